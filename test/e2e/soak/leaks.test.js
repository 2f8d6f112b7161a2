import { describe, expect, test } from 'vitest';
import { countDescriptors, footprintLine, footprintOf } from '../../helpers/footprint.js';
import { leastHandles } from '../../helpers/heap.js';
import { killIfThere } from '../../helpers/processes.js';
import { serve, untilNothingIsLeftOver } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';
import { soakScale } from '../../helpers/soak.js';

const ROUNDS = 10;
/** Number of warm-up rounds: the first rounds fill caches and let the heap find its size. */
const WARM_UP = 3;
/** A short run allows more growth, because the run ends before the warm-up is over. */
const TOLERANCE = soakScale < 1 ? 1.1 : 1.02;
/** Finds slow growth. This limit compares with the very first round, including the warm-up. */
const TOLERANCE_FROM_FIRST = 1.1;
/** Reserves of V8 and malloc vary. A leak outside of the heap (buffers, handles) is larger. */
const PRIVATE_TOLERANCE = 1.15;
const PRIVATE_BYTES = 3 * 2 ** 20;

async function expectNoGrowth(home, round) {
  const { keeperPid, controlPid } = await home.daemon();
  // Measures once before the count, because an inspector leaves a few descriptors open.
  for (const pid of [keeperPid, controlPid]) await footprintOf(pid);
  // For each running process, control may keep /proc/PID/stat open between two measurements.
  const fdsAtMost = countDescriptors(controlPid) + countDescriptors(keeperPid) + (await home.list()).length;
  const found = [];
  for (let n = 0; n < ROUNDS; n += 1) {
    await round();
    await untilNothingIsLeftOver(home);
    // Control keeps the values and a descriptor of a dead process for some seconds.
    await home.waitFor(
      `keeper and control to have ${fdsAtMost} descriptors again`,
      () => {
        const fds = countDescriptors(controlPid) + countDescriptors(keeperPid);
        if (fds > fdsAtMost) throw new Error(`${fds} descriptors`);
        return true;
      },
      { deadlineMs: 20_000 },
    );
    const now = { keeper: await footprintOf(keeperPid), control: await footprintOf(controlPid) };
    process.stdout.write(`round ${n + 1}: ${footprintLine(now)}\n`);
    found.push(now);
  }
  expect(await home.daemon()).toMatchObject({ keeperPid, controlPid });
  // Uses the least of several rounds, because the heap also shrinks and grows without a leak: V8
  // drops compiled code that has not run for a while, and compiles the code again later.
  const least = (rounds, who, what) => Math.min(...rounds.map((one) => one[who][what]));
  const [first, middle, last] = [found.slice(0, WARM_UP), found.slice(WARM_UP, 2 * WARM_UP), found.slice(-WARM_UP)];
  for (const who of ['keeper', 'control']) {
    expect(least(last, who, 'heapBytes') / least(middle, who, 'heapBytes'), `heap of ${who}`).toBeLessThanOrEqual(
      TOLERANCE,
    );
    expect(
      least(last, who, 'heapBytes') / found[0][who].heapBytes,
      `heap of ${who} since the first round`,
    ).toBeLessThanOrEqual(TOLERANCE_FROM_FIRST);
    const { privateBytes } = found[WARM_UP][who];
    expect(least(last, who, 'privateBytes'), `private memory of ${who}`).toBeLessThanOrEqual(
      Math.max(privateBytes * PRIVATE_TOLERANCE, privateBytes + PRIVATE_BYTES),
    );
    const [{ Timeout: timersFirst = 0, ...handlesFirst }, { Timeout: timersLast = 0, ...handlesLast }] = [
      first,
      last,
    ].map((rounds) => leastHandles(rounds.map((one) => one[who].handles)));
    expect(handlesLast, `handles of ${who}`).toEqual(handlesFirst);
    // A repeated timer may be missing while its work runs, so a few more timers are accepted. A
    // leak of one timer in every round would add seven timers.
    expect(timersLast, `timers of ${who}`).toBeLessThanOrEqual(timersFirst + WARM_UP);
  }
}

describe('the memory and handles of keeper and control do not grow', () => {
  test('memory and handles do not grow over 1,000 reloads', async () => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2, flags: ['--min-uptime', '0'] });
    await expectNoGrowth(home, async () => {
      for (let n = 0; n < Math.ceil((1_000 * soakScale) / ROUNDS); n += 1)
        expect(await home.nclust('reload', app.name)).toMatchObject({ exitStatus: 0 });
    });
  });

  test('memory and handles do not grow over 10,000 crashes', async () => {
    const home = await sandbox();
    await home.nclust('start', 'sleep', '-i', '20', '--min-uptime', '0', '--', '100000');
    await serve(home, 'http-echo', { instances: 2, flags: ['--min-uptime', '0'] });
    const crashes = Math.ceil((10_000 * soakScale) / ROUNDS);
    await expectNoGrowth(home, async () => {
      for (let done = 0; done < crashes;) {
        const before = (await home.list()).filter((slot) => slot.pid > 0);
        for (const { pid } of before) killIfThere(pid);
        done += before.length;
        const dead = new Set(before.map(({ pid }) => pid));
        await home.waitFor('all killed processes to be replaced', async () =>
          (await home.list()).every((slot) => slot.status === 'online' && !dead.has(slot.pid)),
        );
      }
    });
  });
});
