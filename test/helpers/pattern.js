/** @param {...RegExp} parts  Without flags. */
export const pattern = (...parts) => new RegExp(parts.map(({ source }) => source).join(''));
