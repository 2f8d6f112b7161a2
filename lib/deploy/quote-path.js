import { shellQuote } from '../shared/shell-quote.js';

/**
 * A path on a host, as one word of a shell. What begins with "~/", and what is relative, counts from the home there, which only the shell there knows.
 * @param {string} path
 * @returns {string}
 */
export function quotePath(path) {
  if (path.startsWith('/')) return shellQuote(path);
  const rest = path.replace(/^~(\/|$)/, '').replace(/\/+$/, '');
  return rest === '' ? '"$HOME"' : `"$HOME"/${shellQuote(rest)}`;
}
