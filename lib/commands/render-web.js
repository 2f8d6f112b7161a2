/**
 * The address, alone, so that scripts can take it.
 * @param {import('./web.js').WebAnswer} answer
 * @returns {string}
 */
export function renderWeb(answer) {
  return answer.isOn ? `${answer.url}\n` : '';
}
