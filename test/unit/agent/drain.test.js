import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { drain } from '../../../daemon/agent/drain.cjs';

// When a process has nothing in flight any more. The real thing is in test/integration/drain.test.js.

const LOOK_EVERY_MS = 50;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A process whose connections have all ended. @param {{ isPassing: boolean } | null} balance */
function createRig(balance) {
  const rig = {
    isListening: true,
    isDrained: false,
    balance,
    /** @param {'handover' | 'finish'} mode */
    drain(mode) {
      const servers = { all: new Set(), wrapped: new Set(), webSockets: new Set() };
      const closeListening = (/** @type {() => void} */ then) => {
        rig.isListening = false;
        then();
      };
      drain(/** @type {any} */ ({ servers, balance, closeListening }), { mode }, () => { rig.isDrained = true; });
    },
  };
  return rig;
}

/** @type {('handover' | 'finish')[]} */
const MODES = ['handover', 'finish'];

test.each(MODES)('%s: a process stays as long as a connection is on its way from it to another worker', (mode) => {
  const balance = { isPassing: true };
  const rig = createRig(balance);
  rig.drain(mode);
  vi.advanceTimersByTime(100 * LOOK_EVERY_MS);
  expect([rig.isListening, rig.isDrained]).toEqual([false, false]);
  balance.isPassing = false;
  vi.advanceTimersByTime(LOOK_EVERY_MS);
  expect(rig.isDrained).toBe(true);
});

test.each([
  ['passes nothing on', { isPassing: false }],
  ['has nobody to pass on to', null],
])('one that %s is drained at once', (_what, balance) => {
  const rig = createRig(balance);
  rig.drain('handover');
  expect(rig.isDrained).toBe(true);
});
