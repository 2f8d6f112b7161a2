import { NclustError } from '../../shared/errors.js';

/**
 * Cuts a line into words as a shell would: quotes and backslashes are honoured, nothing is expanded.
 * @param {string} line
 * @param {string} keyPath  Named in the error.
 * @returns {string[]}  Throws ERR_NCLUST_USAGE for a quote that is not closed.
 */
export function splitWords(line, keyPath) {
  /** @type {string[]} */
  const words = [];
  const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let word = '';
  let isInWord = false;
  while (piece.lastIndex < line.length) {
    const match = piece.exec(line);
    if (!match) throw new NclustError('ERR_NCLUST_USAGE', `${keyPath} is ${JSON.stringify(line)}; accepted: words whose quotes are closed.`);
    const [all, single, double, escaped, plain] = match;
    if (/^\s/.test(all) && single === undefined && double === undefined && escaped === undefined) {
      if (isInWord) words.push(word);
      word = '';
      isInWord = false;
    } else {
      word += single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
      isInWord = true;
    }
  }
  return isInWord ? [...words, word] : words;
}
