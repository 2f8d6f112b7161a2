import { expect, test } from 'vitest';
import { sourceFiles } from '../helpers/source-tree.js';

// chalk draws the colours, and cli-table3 draws the tables: see docs/architecture.md.
const files = sourceFiles('bin', 'lib', 'daemon');

const filesWith = (pattern) =>
  files
    .filter(({ code }) => pattern.test(code))
    .map(({ path }) => path)
    .sort();

test('no file contains the code of a colour, because chalk has them', () => {
  expect(filesWith(/(?:\\u001b|\\x1b|\\033|\u001b)\[(?:\d|\$\{)[^'"`A-Za-z]*m/i)).toEqual([]);
});

test('escape codes are written only in the cursor modules and the terminal module of monit', () => {
  expect(filesWith(/['"`](?:[^'"`/]|\\.)*(?:\\u001b|\\x1b|\\033|\u001b)\[/i)).toEqual([
    'lib/monit/keys.js',
    'lib/monit/terminal.js',
    'lib/render/cursor.js',
  ]);
});

test('characters of boxes are only in the options of cli-table3 and in the frame of monit', () => {
  expect(filesWith(/[\u2500-\u257f]/)).toEqual(['lib/monit/view-table.js', 'lib/monit/view.js', 'lib/render/table.js']);
});
