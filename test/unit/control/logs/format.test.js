import { describe, expect, test } from 'vitest';
import { createLineFormat, createPlainFormat } from '../../../../daemon/control/logs/format.js';
import { LINE_MAX_BYTES } from '../../../../lib/shared/daemon/lines.js';
import { createRandom, pickOne } from '../../../helpers/random.js';

const atMs = new Date(2026, 10, 21, 14, 3, 9).getTime();
const base = { name: 'my "api"', id: 7, stream: 'err', nowMs: () => atMs };

const make = (o) => createLineFormat({ ...base, logType: 'raw', logDateFormat: null, ...o });

const json = () => make({ logType: 'json' });
const dated = () => make({ logDateFormat: '[é] HH:mm:ss' });
const FORMATS = [
  ['json', json],
  ['dated', dated],
  ['json with dates', () => make({ logType: 'json', logDateFormat: 'HH:mm' })],
  ['plain', createPlainFormat],
];

function written(format, chunks) {
  const shared = Buffer.alloc(chunks.reduce((most, chunk) => Math.max(most, chunk.length), 1));
  // Copies each part, because the next chunk overwrites the buffer, as in the reader.
  const parts = chunks.map((chunk) => Buffer.from(format.push(shared.subarray(0, chunk.copy(shared)), atMs)));
  return Buffer.concat([...parts, format.end()]);
}

const records = (bytes) =>
  bytes
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

test('raw output without a date needs no format', () => {
  expect(createLineFormat({ ...base, logType: 'raw', logDateFormat: null })).toBeNull();
});

describe('a record per line', () => {
  test('a record has the fields of PM2', () => {
    expect(written(json(), [Buffer.from('one\ntwo\n')]).toString()).toBe(
      ['one', 'two']
        .map(
          (message) =>
            `{"message":"${message}","timestamp":"${new Date(atMs).toISOString()}","type":"err",` +
            `"process_id":7,"app_name":"my \\"api\\""}\n`,
        )
        .join(''),
    );
  });

  test.each([
    ['quotes and backslashes', 'a "b" \\n c\\', 'a "b" \\n c\\'],
    ['control characters', '\u0000\t\u001b[31m', '\u0000\t\u001b[31m'],
    ['characters of every length', 'é €𝄞\u2028ÿ', 'é €𝄞\u2028ÿ'],
    ['nothing', '', ''],
    ['a line end of Windows', 'x\r', 'x'],
    ['a carriage return inside', 'x\ry\r\r', 'x\ry\r'],
  ])('a record contains %s', (_, line, message) => {
    expect(records(written(json(), [Buffer.from(`before\n${line}\nafter\n`)])).map((record) => record.message)).toEqual(
      ['before', message, 'after'],
    );
  });

  test('a record is JSON in UTF-8 even if the line is not', () => {
    const line = Buffer.from([0x61, 0xff, 0xc3, 0x0a, 0xa9, 0x0a]);
    expect(records(written(json(), [line])).map(({ message }) => message)).toEqual(['a\ufffd\ufffd', '\ufffd']);
  });

  test('a record has its time in the requested format', () => {
    expect(records(written(make({ logType: 'json', logDateFormat: '"HH"' }), [Buffer.from('x\n')]))).toMatchObject([
      { timestamp: '"14"' },
    ]);
  });
});

describe('a date in front of each line', () => {
  test('the date of a line is the same as that of PM2', () => {
    expect(written(make({ logDateFormat: 'YYYY-MM-DDTHH:mm:ss' }), [Buffer.from('one\n\ntwo')]).toString()).toBe(
      '2026-11-21T14:03:09: one\n2026-11-21T14:03:09: \n2026-11-21T14:03:09: two\n',
    );
  });

  test('the date of a line leaves its bytes unchanged', () => {
    const line = Buffer.from([...Array(256).keys()].filter((byte) => byte !== 0x0a));
    expect(written(dated(), [line])).toEqual(Buffer.concat([Buffer.from('é 14:03:09: '), line, Buffer.from('\n')]));
  });

  test('the date of a line is the time at which the line was complete', () => {
    const format = make({ logDateFormat: 'ss' });
    expect(format.push(Buffer.from('half'), atMs).toString()).toBe('');
    expect(format.push(Buffer.from(' and half\nnext'), atMs + 2_000).toString()).toBe('11: half and half\n');
    expect(format.end().toString()).toBe('09: next\n');
    expect(format.end().toString()).toBe('');
  });
});

describe('a line that is longer than 64 KiB', () => {
  // The limit of 64 KiB is in the middle of a €, so the first part ends before this character.
  const long = Buffer.from(`${'€'.repeat(30_000)}\n`);

  test('a long line is written in parts as it arrives, with one date', () => {
    const format = dated();
    const first = format.push(long.subarray(0, LINE_MAX_BYTES + 1), atMs);
    expect(first.toString()).toBe(`é 14:03:09: ${'€'.repeat(21_845)}`);
    expect(format.push(long.subarray(LINE_MAX_BYTES + 1), atMs + 5_000).toString()).toBe(
      `${'€'.repeat(30_000 - 21_845)}\n`,
    );
    expect(format.push(Buffer.from('x\n'), atMs).toString()).toBe('é 14:03:09: x\n');
  });

  test('a long line becomes several records, and all but the last are marked', () => {
    const parts = records(written(json(), [Buffer.from('x\n'), long, Buffer.from('y\n')]));
    expect(parts.map(({ message, part }) => [message.length, part])).toEqual([
      [1, undefined],
      [21_845, true],
      [30_000 - 21_845, undefined],
      [1, undefined],
    ]);
  });

  test('a line without an end is not kept in memory', () => {
    const format = createPlainFormat();
    let bytes = 0;
    for (let at = 0; at < 100; at++) bytes += format.push(Buffer.alloc(10_000, 0x61), atMs).length;
    expect(bytes).toBeGreaterThan(1_000_000 - LINE_MAX_BYTES - 1);
  });
});

describe('however the bytes are cut into chunks', () => {
  const random = createRandom(4);
  const alphabet = ['a', ' ', '"', '\\', '\r', '\t', 'é', '€', '𝄞', '\u0000', '{"x":1}', '\u001b[0m'];
  const line = () => Array.from({ length: Math.floor(random() * 30) }, () => pickOne(random, alphabet)).join('');
  const longLine = () =>
    Array.from({ length: 20_000 + Math.floor(random() * 40_000) }, () => pickOne(random, alphabet)).join('');
  const lines = Array.from({ length: 400 }, (_, at) => (at % 150 === 149 ? longLine() : line()));
  const bytes = Buffer.concat([
    Buffer.from(lines.join('\n')),
    Buffer.from([0x0a, 0xff, 0x80, 0x0a]),
    Buffer.from('no end'),
  ]);

  function chunked(max) {
    const chunks = [];
    for (let from = 0; from < bytes.length;) {
      const size = 1 + Math.floor(random() * max);
      chunks.push(bytes.subarray(from, from + size));
      from += size;
    }
    return chunks;
  }

  function lineByLine(create) {
    const ends = [...bytes.keys()].filter((at) => bytes[at] === 0x0a).map((at) => at + 1);
    return written(
      create(),
      [0, ...ends].map((from, at) => bytes.subarray(from, ends[at])),
    );
  }

  test.each(FORMATS)('the output of %s is the same as line by line', (_, create) => {
    const expected = lineByLine(create);
    for (const max of [7, 100, 5_000, 65_536, 400_000])
      expect(written(create(), chunked(max)).equals(expected)).toBe(true);
  });

  test('plain output is unchanged', () => {
    expect(written(createPlainFormat(), chunked(3_000)).equals(Buffer.concat([bytes, Buffer.from('\n')]))).toBe(true);
  });
});

describe('the output of a chunk stays small', () => {
  const kinds = [
    ['empty lines', Buffer.alloc(64 * 1024, 0x0a)],
    ['zeros', Buffer.alloc(64 * 1024)],
    [
      'bytes that are no UTF-8, in lines',
      Buffer.from(Array.from({ length: 64 * 1024 }, (_, at) => (at % 256 === 0 ? 0x0a : 0xff))),
    ],
    ['one line and its end', Buffer.from(`${'x'.repeat(9_000)}\n`)],
    ['nothing whole', Buffer.from('half')],
  ];
  test.each(kinds)('the output of a chunk stays small: %s', (_, chunk) => {
    for (const [, create] of FORMATS.slice(0, 3)) {
      const pieces = [];
      const format = create();
      for (let round = 0; round < 3; round++) format.each(chunk, atMs, (lines) => void pieces.push(Buffer.from(lines)));
      pieces.push(format.end());
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(512 * 1024);
      expect(Buffer.concat(pieces).equals(written(create(), [chunk, chunk, chunk]))).toBe(true);
    }
  });
});
