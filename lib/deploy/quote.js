/**
 * A text as one word of a shell.
 * @param {string} text
 * @returns {string}
 */
export function quote(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * A path on a host. What begins with "~/", and what is relative, counts from the home there, which only the shell there knows.
 * @param {string} path
 * @returns {string}
 */
export function quotePath(path) {
  if (path.startsWith('/')) return quote(path);
  const rest = path.replace(/^~(\/|$)/, '').replace(/\/+$/, '');
  return rest === '' ? '"$HOME"' : `"$HOME"/${quote(rest)}`;
}
