/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}  Neither null nor a list.
 */
export function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
