import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { adviceFor } from '../helpers/plain-english.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** @returns {string[]}  The pages of docs/, as paths from the root of the project. */
export function listPages() {
  return readdirSync(`${ROOT}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
}

/** @param {string} page */
export function readPage(page) {
  return readFileSync(`${ROOT}${page}`, 'utf8');
}

/**
 * @typedef {object} Measure
 * @property {number} words  Counts text, tables, code and output.
 * @property {string[]} sentences  Of paragraphs and lists.
 * @property {string[]} cells  Of tables.
 * @property {number} meanWords  Per sentence.
 * @property {string[]} tooWide  Lines with more than 100 columns, without tables, code and output.
 * @property {string[]} tooLong  Sentences with more than 25 words.
 * @property {string[]} twice  Sentences and cells that most readers have to read twice, with the
 *   words to use instead.
 */

/**
 * @param {string} text
 * @returns {Measure}
 */
export function measurePage(text) {
  const prose = text.replace(/^```[^]*?^```$/gm, '').replace(/^ {4}(?! *\*| *\d+\.).*$/gm, '');
  const lines = prose.split('\n');
  const isRow = (/** @type {string} */ line) => line.startsWith('|');
  const sentences = lines
    .filter((line) => !isRow(line) && !/^#|^!\[|^\[[^\]]+\]:/.test(line))
    .join('\n')
    .split(/\n\s*\n|\n(?=\s*(?:\*|-|\d+\.) )/)
    .map(plain)
    .flatMap(splitSentences)
    .filter((sentence) => countWords(sentence) > 2);
  const cells = lines
    .filter((line) => isRow(line) && !/^\|[\s|:-]+\|$/.test(line))
    .flatMap((line) =>
      line
        .split(/(?<!\\)\|/)
        .map(plain)
        .filter(Boolean),
    );
  return {
    words: countWords(text),
    sentences,
    cells,
    meanWords: sentences.reduce((sum, sentence) => sum + countWords(sentence), 0) / Math.max(1, sentences.length),
    tooWide: lines.filter((line) => !isRow(line) && !line.startsWith('![') && line.length > 100),
    tooLong: [...sentences, ...cells.flatMap(splitSentences)].filter((sentence) => countWords(sentence) > 25),
    twice: [...sentences, ...cells].flatMap((each) => adviceFor(each).map((instead) => `${each} (${instead})`)),
  };
}

function splitSentences(/** @type {string} */ block) {
  return block.split(/(?<=[.!?:][)"”]?)\s+(?=["“(]?(?:[\p{Lu}\d`]|nclust))/u);
}

/** Code and links count as one word each. */
function plain(/** @type {string} */ markdown) {
  return markdown
    .replace(/^\s*(?:\*|-|\d+\.) /, '')
    .replace(/`[^`]*`/g, 'X')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_]{1,2}([^*_]+)[*_]{1,2}/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

/** @param {string} text */
export function countWords(text) {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
