import { expect, test } from 'vitest';
import { chooseShape } from '../../../../lib/run/output.js';

const text = (bytes) => bytes.toString('utf8');

test('a record of an unfinished line is marked', () => {
  const head = { instanceId: 'i', id: 1, name: 'api', stream: 'out', atMs: 0 };
  const records = text(chooseShape({ json: true })(head, Buffer.from('one\r\ntwo\nthr')));
  expect(
    records
      .trimEnd()
      .split('\n')
      .map((record) => JSON.parse(record))
      .map(({ message, part }) => [message, part]),
  ).toEqual([
    ['one', undefined],
    ['two', undefined],
    ['thr', true],
  ]);
});
