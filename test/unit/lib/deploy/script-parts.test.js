import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { quotePath } from '../../../../lib/deploy/script-parts.js';

test.each([
  ['/srv/app', '/srv/app'],
  ['~/app', '/home/ann/app'],
  ['~', '/home/ann'],
  ['~/', '/home/ann'],
  ['app/x y', '/home/ann/app/x y'],
  ["~/it's", "/home/ann/it's"],
  ['~/$HOME', '/home/ann/$HOME'],
])('quotePath resolves %s to %s on the host', (path, real) => {
  expect(
    execFileSync('sh', ['-c', `printf %s ${quotePath(path)}`], { encoding: 'utf8', env: { HOME: '/home/ann' } }),
  ).toBe(real);
});
