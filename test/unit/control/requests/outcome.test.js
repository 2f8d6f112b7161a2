import { expect, test } from 'vitest';
import { notUpError } from '../../../../daemon/control/requests/outcome.js';

const TAKEN = { address: null, port: 80, family: 6, code: 'EADDRINUSE', app: null, holder: null };
const notUp = (slot, listenFailure) => ({
  id: slot,
  name: 'api',
  slot,
  reason: 'failed',
  lastLines: [],
  listenFailure,
});

test.each([
  [{ app: 'api' }, /^Instances in fork mode .*: nclust start api -i <number>\. nclust logs api/],
  [{ holder: { pid: 7, command: 'node', isOwn: true } }, /^Instances in fork mode .*: nclust start api -i <number>\. /],
  [{ app: 'web' }, /^Give one of them another port/],
  [{ holder: { pid: 7, command: 'node' } }, /^Give it another port/],
])('a scale in which new instances could not listen (%o) gives the advice for that holder', (failure, hint) => {
  const slots = [1, 2].map((slot) => notUp(slot, { ...TAKEN, ...failure }));
  expect(notUpError(slots, { wanted: 2, method: 'scale' }).hint).toMatch(hint);
});
