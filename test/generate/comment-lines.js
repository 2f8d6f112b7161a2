const COLUMNS_MAX = 100;

/**
 * A comment of a property.
 * @param {string[]} sentences  With or without an upper case letter and a full stop.
 * @returns {string[]}  One line if it fits.
 */
export function commentLines(sentences) {
  const text = sentences
    .map((one) => `${one[0].toUpperCase()}${one.slice(1).replace(/\.$/, '')}.`)
    .join(' ')
    .replaceAll('*/', '* /');
  if (text === '') return [];
  const line = `  /** ${text} */`;
  if (line.length <= COLUMNS_MAX) return [line];
  const wrapped = text.match(new RegExp(`.{1,${COLUMNS_MAX - '   * '.length}}(?: |$)`, 'g')) ?? [];
  return ['  /**', ...wrapped.map((part) => `   * ${part.trimEnd()}`), '   */'];
}
