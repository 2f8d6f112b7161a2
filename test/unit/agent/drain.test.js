import { expect, test } from 'vitest';
import { drain } from '../../../daemon/agent/drain.cjs';
import { waitFor } from '../../helpers/wait-for.js';

// test/integration/drain.test.js tests the same with real processes.

function createRig(balance) {
  const rig = {
    isListening: true,
    isDrained: false,
    balance,
    drain(mode) {
      const servers = { all: new Set(), wrapped: new Set(), webSockets: new Set() };
      const closeListening = (_, then) => {
        rig.isListening = false;
        then();
      };
      drain({ servers, balance, closeListening }, { mode }, () => {
        rig.isDrained = true;
      });
    },
  };
  return rig;
}

const MODES = ['handover', 'finish'];

test.each(MODES)('%s: a process stays alive while it is passing a connection to another worker', async (mode) => {
  let [looks, isPassing] = [0, true];
  const rig = createRig({
    get isPassing() {
      looks += 1;
      return isPassing;
    },
  });
  rig.drain(mode);
  await waitFor('a few looks', () => looks > 3);
  expect([rig.isListening, rig.isDrained]).toEqual([false, false]);
  isPassing = false;
  await waitFor('the end of the drain', () => rig.isDrained);
});

test.each([
  ['passes nothing on', { isPassing: false }],
  ['has nobody to pass on to', null],
])('a process that %s is drained at once', (_what, balance) => {
  const rig = createRig(balance);
  rig.drain('handover');
  expect(rig.isDrained).toBe(true);
});
