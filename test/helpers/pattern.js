/**
 * Joins patterns, for one that is too long for a line.
 * @param {...RegExp} parts  Without flags.
 */
export const pattern = (...parts) => new RegExp(parts.map(({ source }) => source).join(''));
