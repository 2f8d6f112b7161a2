/**
 * One pattern of several, one right after the other: for what is too long for one line.
 * @param {...RegExp} parts  Without flags.
 */
export const pattern = (...parts) => new RegExp(parts.map(({ source }) => source).join(''));
