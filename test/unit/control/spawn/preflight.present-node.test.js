import { expect, test } from 'vitest';
import { substituteMissingNode } from '../../../../daemon/control/spawn/preflight.js';
import { makeSpec } from '../make-spec.js';

const own = { execPath: '/opt/node22/bin/node', version: 'v22.0.0' };
const gone = { exists: () => false, own };

test('a program runs on the Node.js it was started on, while that exists', () => {
  const spec = makeSpec({ file: '/opt/node20/bin/node' });
  expect(substituteMissingNode(spec, { exists: (path) => path === '/opt/node20/bin/node', own })).toBe(spec);
});

test('a program runs on the Node.js of the manager if its own is gone', () => {
  expect(substituteMissingNode(makeSpec({ file: '/opt/node20/bin/node' }), gone)).toMatchObject({
    file: own.execPath,
    interpreter: own.execPath,
    nodeVersion: own.version,
  });
});

test.each([
  ['an interpreter that was asked for by name', makeSpec({ interpreterGiven: '/opt/node20/bin/node' })],
  ['anything that is no Node.js', makeSpec({ kind: 'exec', mode: 'fork', file: '/opt/python3' })],
])('the Node.js of the manager does not replace %s', (_, spec) => {
  expect(substituteMissingNode(spec, gone)).toBe(spec);
});
