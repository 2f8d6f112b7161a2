/**
 * A value that has no plain form.
 * @typedef {{ keyPath: string, found: string }} Oddity
 */

/** Deeper than any real config file. */
const DEPTH_MAX = 100;

/**
 * Copies the export of a config file as plain values. Regular expressions stay objects.
 * @param {unknown} value
 * @returns {{ value: unknown, oddities: Oddity[] }}
 */
export function toPlain(value) {
  /** @type {Oddity[]} */
  const oddities = [];
  return { value: copy(value, '', [], oddities), oddities };
}

/**
 * @param {unknown} value
 * @param {string} keyPath
 * @param {object[]} parents
 * @param {Oddity[]} oddities
 * @returns {unknown}
 */
function copy(value, keyPath, parents, oddities) {
  const odd = (/** @type {string} */ found) => void oddities.push({ keyPath, found });
  if (typeof value === 'function' || typeof value === 'symbol') return odd(`is a ${typeof value}`);
  if (value instanceof Map || value instanceof Set) return odd(`is a ${value instanceof Map ? 'Map' : 'Set'}`);
  if (ArrayBuffer.isView(value)) return odd('is binary data');
  if (typeof value === 'bigint' || value instanceof Date || value instanceof URL)
    return value instanceof Date ? value.toISOString() : String(value);
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return value;
  if (parents.includes(value)) return odd('contains itself');
  if (parents.length === DEPTH_MAX) return odd(`is more than ${DEPTH_MAX} levels deep`);
  const inside = [...parents, value];
  if (Array.isArray(value)) return value.map((one, at) => copy(one, `${keyPath}[${at}]`, inside, oddities));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      copy(one, keyPath === '' ? key : `${keyPath}.${key}`, inside, oddities),
    ]),
  );
}
