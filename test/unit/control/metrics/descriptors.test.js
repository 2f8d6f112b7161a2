import { beforeEach, expect, test } from 'vitest';
import { readDescriptors } from '../../../../daemon/control/metrics/descriptors.js';

let fds;
let limit;
let asked;

beforeEach(() => {
  [fds, limit, asked] = [10, 100, 0];
});

const read = () =>
  readDescriptors(7, { countFds: () => fds, readFilesLimit: () => limit, countSockets: () => ((asked += 1), 4) });

test('the limit is that of the process now', () => {
  expect(read()).toEqual({ fds: 10, fdsLimit: 100, sockets: null });
  limit = 200;
  expect(read().fdsLimit).toBe(200);
});

test('sockets are counted above 80 % of the limit', () => {
  fds = 80;
  expect(read().sockets).toBe(null);
  fds = 81;
  expect(read()).toEqual({ fds: 81, fdsLimit: 100, sockets: 4 });
});

test('sockets among very many descriptors are not counted, because that takes long', () => {
  [fds, limit] = [10_001, 10_100];
  expect(read()).toEqual({ fds: 10_001, fdsLimit: 10_100, sockets: null });
  expect(asked).toBe(0);
});

test('a process without a limit has none', () => {
  limit = Infinity;
  fds = 1e6;
  expect(read()).toEqual({ fds: 1e6, fdsLimit: null, sockets: null });
});

test('descriptors that cannot be counted are not known', () => {
  fds = null;
  expect(read()).toEqual({ fds: null, fdsLimit: null, sockets: null });
});
