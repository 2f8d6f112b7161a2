/**
 * The path, for whoever reads it on: everything else was said aside.
 * @param {import('./profile.js').Profiled} data
 * @returns {string}
 */
export function renderProfiled({ file }) {
  return `${file}\n`;
}
