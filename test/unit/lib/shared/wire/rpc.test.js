import { describe, expect, test } from 'vitest';
import {
  errorLine,
  notificationLine,
  parseLine,
  requestLine,
  resultLine,
  RPC_ERROR,
} from '../../../../../lib/shared/wire/rpc.js';

describe('parseLine', () => {
  test.each([
    ['a request', requestLine(1, 'list', {}), { id: 1, method: 'list', params: {} }],
    ['a result', resultLine(1, undefined), { id: 1, result: {} }],
    ['an error', errorLine(null, { code: -32700, message: 'x' }), { id: null, error: { code: -32700, message: 'x' } }],
    ['a notification', notificationLine('log', { subscription: 1 }), { method: 'log', params: { subscription: 1 } }],
    ['unknown fields', '{"jsonrpc":"2.0","id":1,"method":"list","extra":true}', { id: 1, method: 'list' }],
  ])('parseLine reads %s', (_, line, message) => {
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
  ])('parseLine answers %s with an error', (_, line, code, id) => {
    expect(parseLine(line)).toMatchObject({ fault: { code, message: expect.any(String) }, id });
  });
});
