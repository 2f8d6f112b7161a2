import { expect, test } from 'vitest';
import { formatAddress } from '../../../../lib/shared/address.js';

test.each([
  [{ host: '127.0.0.1', port: 80 }, '127.0.0.1:80'],
  [{ host: 'localhost', port: 0 }, 'localhost:0'],
  [{ host: '::', port: 8080 }, '[::]:8080'],
])('formatAddress() writes %o as %s', (address, expected) => {
  expect(formatAddress(address)).toBe(expected);
});
