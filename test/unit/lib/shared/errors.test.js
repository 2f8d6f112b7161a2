import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS } from '../../../../lib/shared/error-codes.js';
import { toNclustError, fromFields, fromWire, NclustError, toWire } from '../../../../lib/shared/errors.js';

test('docs/errors.md has the rows of the table, in its order', () => {
  const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(ERR_\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)].map(
    ([, code, exitStatus, when, remedy]) => [code, { exitStatus: Number(exitStatus), when, remedy }],
  );
  expect(rows).toEqual(Object.entries(ERRORS));
});

test('the table is sorted, and contains only the three exit statuses of failures', () => {
  expect(Object.keys(ERRORS)).toEqual(Object.keys(ERRORS).sort());
  for (const row of Object.values(ERRORS)) expect([1, 2, 3, 130]).toContain(row.exitStatus);
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
