import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EXIT_STATUS_OF } from '../../../../lib/shared/error-codes.js';
import { toNclustError, fromFields, fromWire, NclustError, toWire } from '../../../../lib/shared/errors.js';

test('docs/errors.md has a row for each code, with its exit status, the reason and the remedy', () => {
  const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(ERR_\w+)` \| (\d+) \| \S.+\. \| \S.+\. \|$/gm)];
  expect(rows.map(([, code, status]) => [code, Number(status)])).toEqual(Object.entries(EXIT_STATUS_OF));
  expect(Object.keys(EXIT_STATUS_OF)).toEqual(Object.keys(EXIT_STATUS_OF).sort());
});

test('an error arrives unchanged at the other process', () => {
  const error = new NclustError('ERR_NCLUST_NOT_UP', 'The start of "api" failed.', {
    hint: 'Look.',
    data: { slots: [] },
  });
  const back = fromWire(JSON.parse(JSON.stringify(toWire(error))));
  expect(back).toBeInstanceOf(NclustError);
  expect(back).toMatchObject({
    code: 'ERR_NCLUST_NOT_UP',
    message: error.message,
    hint: 'Look.',
    data: { slots: [] },
    exitStatus: 1,
  });
});

test.each([
  ['the row of its code', new NclustError('ERR_NCLUST_USAGE', 'x'), 2],
  ['the row of its code', new NclustError('ERR_NCLUST_DAEMON_UNREACHABLE', 'x'), 3],
  ['who made it', new NclustError('ERR_NCLUST_USAGE', 'x', { exitStatus: 1 }), 1],
  ['1, for a code of a later version', fromFields({ code: 'ERR_NCLUST_FROM_THE_FUTURE', message: 'x' }), 1],
])('the exit status is that of %s', (_, error, exitStatus) => {
  expect(error.exitStatus).toBe(exitStatus);
});

test('an error of JSON-RPC itself becomes ERR_NCLUST_PROTOCOL', () => {
  expect(fromWire({ code: -32601, message: 'No method "x".' })).toMatchObject({
    code: 'ERR_NCLUST_PROTOCOL',
    message: 'No method "x".',
    data: { rpcCode: -32601 },
  });
});

test.each([
  ['an Error', new TypeError('x is not a function')],
  ['anything else', 'x is not a function'],
])('%s becomes ERR_NCLUST_INTERNAL and keeps its message', (_, thrown) => {
  expect(toNclustError(thrown)).toMatchObject({
    code: 'ERR_NCLUST_INTERNAL',
    message: 'x is not a function',
    cause: thrown,
  });
});
