/**
 * @param {string} text
 * @returns {string}  For `new RegExp()`. It matches only this text.
 */
export function escapeRegExp(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
