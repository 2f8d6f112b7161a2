import { expect, test } from 'vitest';
import { nearWords } from '../../../../lib/shared/did-you-mean.js';

test.each([
  ['the nearest first', 'appp.mjs', ['app.cjs', 'app.mjs', 'index.html'], ['app.mjs', 'app.cjs']],
  ['what has it as a part', 'api', ['worker', 'shop-api'], ['shop-api']],
  ['nothing that is far away', 'nope', ['worker', 'api'], []],
])('near to a word is %s', (_what, given, words, near) => {
  expect(nearWords(given, words)).toEqual(near);
});
