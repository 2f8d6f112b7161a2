import { expect, test } from 'vitest';
import { isOurName, isOurPage } from '../../../../daemon/control/web/address.js';

const LOOPBACK = { host: '127.0.0.1', port: 9616 };

test.each([
  [
    LOOPBACK,
    ['localhost:9616', '127.0.0.1:9616', '[::1]:9616', 'LOCALHOST:8000', 'localhost'],
    [
      'evil.example:9616',
      '10.0.0.7:9616',
      'localhost.evil.example',
      '127.0.0.1.nip.io:9616',
      '',
      undefined,
      'localhost:9616; x',
      '[localhost]:9616',
      'a b',
      'localhost:9616@evil.example',
      '::1',
    ],
  ],
  [{ host: '::1', port: 1 }, ['[::1]:1', 'localhost:1'], ['[::2]:1', 'evil.example']],
  [{ host: '10.0.0.7', port: 1 }, ['10.0.0.7:1'], ['localhost:1', '10.0.0.8:1', 'evil.example:1']],
  [
    { host: '0.0.0.0', port: 1 },
    ['10.0.0.7:1', '127.0.0.1:1', 'localhost:1', '[fe80::1]:1'],
    ['evil.example:1', 'this-machine:1'],
  ],
])('an address %j has the name %j, and not %j', (address, ours, others) => {
  expect(ours.filter((host) => !isOurName(host, address))).toEqual([]);
  expect(others.filter((host) => isOurName(host, address))).toEqual([]);
});

test('only a page of the same origin may open a WebSocket', () => {
  expect(isOurPage({ host: 'localhost:9616', origin: 'http://localhost:9616' })).toBe(true);
  for (const origin of [
    'http://localhost:8000',
    'https://localhost:9616',
    'http://localhost:9616.evil.example',
    'null',
    undefined,
    'http://127.0.0.1:9616',
    '',
  ]) {
    expect(isOurPage({ host: 'localhost:9616', origin })).toBe(false);
  }
});
