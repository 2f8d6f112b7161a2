import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @import { SlotStatus, SlotTriggers } from '../../lib/shared/wire/protocol.js' */
/** @import { Sandbox } from './sandbox.js' */

/**
 * @param {Sandbox} home
 * @returns {string[]}
 */
export function triggered({ home }) {
  const log = join(home, 'nclust.log');
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'triggered')
    .map(({ by }) => by);
}

/**
 * @param {Sandbox} home
 * @param {string} name
 * @returns {Promise<SlotStatus & { triggers: SlotTriggers }>}
 */
export async function detailOf(home, name) {
  const wire = await home.wire();
  const { slots } = await wire.request('list', { targets: [name], detail: true });
  wire.close();
  return slots[0];
}

/**
 * @param {Sandbox} home
 * @param {string} name
 */
export function untilWatching(home, name) {
  return home.waitFor(`"${name}" to be watched`, async () => (await detailOf(home, name)).triggers.watch?.isReady);
}

/**
 * @param {Sandbox} home
 * @param {string} name
 * @param {RegExp} by
 */
export function untilTriggered(home, name, by) {
  return home.waitFor(
    `"${name}" to be replaced by ${by}`,
    async () => {
      const { last } = (await detailOf(home, name)).triggers;
      return last !== null && by.test(last.by) && last;
    },
    { deadlineMs: 20_000 },
  );
}
