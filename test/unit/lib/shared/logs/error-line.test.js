import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findErrorLine } from '../../../../../lib/shared/logs/error-line.js';

/** Outputs of real programs that died, shortened. The last ones are from documentation. */
const OUTPUTS = readFileSync(new URL('../../../../fixtures/error-outputs.txt', import.meta.url), 'utf8')
  .split(/^=== /m)
  .slice(1)
  .map((part) => {
    const [title, line, frame, ...output] = part.trimEnd().split('\n');
    return { title, line: line.slice('line: '.length), frame: frame.slice('frame: '.length) || null, output };
  });

test.each(OUTPUTS)('the error line and the first own frame of "$title" are found', ({ line, frame, output }) => {
  expect(findErrorLine(output, '/srv/app')).toEqual({ line, frame });
});

test.each([
  ['nothing', []],
  ['empty lines', ['', '  ']],
  ['the rest of a stack', ['    at b (b.js:1:1)', '}', '', 'Node.js v24.1.0']],
])('%s has no error line', (_, lines) => {
  expect(findErrorLine(lines)).toBeNull();
});

test('a file outside of the folder of the app is shown with its parent folder', () => {
  const lines = ['Error: no', '    at load (/srv/releases/7/src/app.js:3:1)'];
  expect(findErrorLine(lines, '/srv/app')?.frame).toBe('load (src/app.js:3)');
  expect(findErrorLine(lines)?.frame).toBe('load (src/app.js:3)');
});

test('line and frame are short, and contain neither colours nor control characters', () => {
  const found = findErrorLine([
    `\u001b[31mError: a\u0007b\u202ec ${'x'.repeat(5_000)}`,
    `    at ${'f'.repeat(500)} (/srv/app/a.js:1:1)`,
  ]);
  expect(found?.line).toBe(`Error: a?b?c ${'x'.repeat(287)}`);
  expect(found?.frame).toHaveLength(120);
});

test('the last of two errors with a stack is the reason', () => {
  const lines = ['Error: a', '    at a (/a/b/a.js:1:1)', 'retrying', 'Error: b', '    at b (/a/b/b.js:1:1)', 'bye'];
  expect(findErrorLine(lines)).toEqual({ line: 'Error: b', frame: 'b (b/b.js:1)' });
});
