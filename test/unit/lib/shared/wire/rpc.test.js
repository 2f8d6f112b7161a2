import { describe, expect, test } from 'vitest';
import {
  createLineReader,
  errorLine,
  notificationLine,
  parseLine,
  requestLine,
  resultLine,
  RPC_ERROR,
} from '../../../../../lib/shared/wire/rpc.js';

function collect(maxBytes = 1_000) {
  const lines = [];
  let refused = 0;
  const reader = createLineReader({ maxBytes, onLine: (line) => lines.push(line), onTooLong: () => (refused += 1) });
  return { lines, reader, refused: () => refused };
}

describe('the line reader', () => {
  const text = `${JSON.stringify({ a: 'ü€😀' })}\n\n${JSON.stringify({ b: 1 })}\r\n{"c":2}\n`;
  const bytes = Buffer.from(text);
  const expected = ['{"a":"ü€😀"}', '{"b":1}', '{"c":2}'];

  test('yields the same lines wherever the stream is cut', () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { lines, reader } = collect();
      reader.push(bytes.subarray(0, cut));
      reader.push(bytes.subarray(cut));
      expect(lines, `cut at byte ${cut}`).toEqual(expected);
    }
  });

  test('yields the same lines if they arrive byte by byte', () => {
    const { lines, reader } = collect();
    for (const byte of bytes) reader.push(Uint8Array.of(byte));
    expect(lines).toEqual(expected);
    expect(reader.pendingBytes()).toBe(0);
  });

  test('copies bytes, so the caller can reuse its buffer', () => {
    const { lines, reader } = collect();
    const shared = Buffer.from('{"a":');
    reader.push(shared);
    shared.write('xxxxx');
    reader.push(Buffer.from('1}\n'));
    expect(lines).toEqual(['{"a":1}']);
  });

  test('accepts a line as long as the limit', () => {
    const { lines, reader, refused } = collect(10);
    reader.push(Buffer.from('0123456789\n'));
    expect([lines, refused()]).toEqual([['0123456789'], 0]);
  });

  test.each([
    ['in one piece', ['0123456789a\n{}\n']],
    ['in several', ['01234', '56789', 'a', '\n{}\n']],
    ['without an end', ['0123456789', 'abc']],
  ])('fails once at a longer line that arrives %s, and ignores everything after it', (_, pieces) => {
    const { lines, reader, refused } = collect(10);
    for (const piece of pieces) reader.push(Buffer.from(piece));
    expect([lines, refused(), reader.pendingBytes()]).toEqual([[], 1, 0]);
  });

  test('keeps at most the limit of an endless line in memory', () => {
    const { reader } = collect(1_000);
    for (let i = 0; i < 100; i++) {
      reader.push(Buffer.alloc(64, 'x'));
      expect(reader.pendingBytes()).toBeLessThanOrEqual(1_000);
    }
  });
});

describe('parseLine', () => {
  test.each([
    ['a request', requestLine(1, 'list', {}), { id: 1, method: 'list', params: {} }],
    ['a result', resultLine(1, undefined), { id: 1, result: {} }],
    ['an error', errorLine(null, { code: -32700, message: 'x' }), { id: null, error: { code: -32700, message: 'x' } }],
    ['a notification', notificationLine('log', { subscription: 1 }), { method: 'log', params: { subscription: 1 } }],
    ['unknown fields', '{"jsonrpc":"2.0","id":1,"method":"list","extra":true}', { id: 1, method: 'list' }],
  ])('reads %s', (_, line, message) => {
    expect(parseLine(line.trim())).toMatchObject({ message });
  });

  test.each([
    ['no JSON', '{"jsonrpc":', RPC_ERROR.parse, null],
    ['binary', '\u0000\u0001\ufffd', RPC_ERROR.parse, null],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"list"}]', RPC_ERROR.invalidRequest, null],
    ['null', 'null', RPC_ERROR.invalidRequest, null],
    ['another version', '{"jsonrpc":"1.0","id":7,"method":"list"}', RPC_ERROR.invalidRequest, 7],
    ['no version', '{"id":"a","method":"list"}', RPC_ERROR.invalidRequest, 'a'],
    ['no method', '{"jsonrpc":"2.0","id":7}', RPC_ERROR.invalidRequest, 7],
    ['a method that is no text', '{"jsonrpc":"2.0","id":7,"method":4}', RPC_ERROR.invalidRequest, 7],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"list"}', RPC_ERROR.invalidRequest, null],
    ['params that are a list', '{"jsonrpc":"2.0","id":7,"method":"list","params":[1]}', RPC_ERROR.invalidParams, 7],
  ])('answers %s with an error', (_, line, code, id) => {
    expect(parseLine(line)).toMatchObject({ fault: { code, message: expect.any(String) }, id });
  });
});
