import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { countDescriptors } from '../helpers/footprint.js';
import { startLoad } from '../helpers/load.js';
import { NOTHING_LOST } from '../helpers/ledger.js';
import { residentBytes } from '../helpers/processes.js';
import { sandbox } from '../helpers/sandbox.js';
import { soakSeed } from '../helpers/soak.js';
import { slowdown } from '../helpers/wait-for.js';

const MESSAGES = 100_000;
const ANSWER_MS = 1_000;
const TEST_MS = 300_000;
/** Memory is measured after this number of messages: by then, the keeper has seen each kind. */
const WARM = 20_000;
/** Garbage before a collection is up to 22 MB. A leak of 400 bytes a message is more than this. */
const GROWTH_MAX_BYTES = 30 * 2 ** 20;
/** Limit for the TCP and UDP sockets that the hostile app makes the keeper open. */
const SOCKETS_MAX = 600;
const OTHERS = [
  ['one', { instances: 2 }],
  ['two', {}],
  ['three', { instances: 1 }],
];

test(
  `${MESSAGES} hostile messages of one app harm no other app and no command about another app`,
  { timeout: TEST_MS * slowdown() },
  async () => {
    const home = await sandbox({ isHostile: true });
    const seed = soakSeed('test/hostile/agent-messages.test.js', 'test:hostile');
    const apps = [];
    for (const [name, o] of OTHERS) apps.push(await home.app('http-echo', { name, ...o }));
    const before = await home.daemon();
    const descriptors = countDescriptors(before.keeperPid);
    const loads = apps.map(({ url }) => startLoad(url, { connections: 2, keepAlive: true, pauseMs: 5 }));
    const wire = await home.wire();

    const env = { COUNT: String(MESSAGES), SEED: String(seed) };
    const words = ['--name', 'bad', '-i', '1', '--no-wait', '--kill-timeout', '2000'];
    await home.nclust('start', home.place('sends-anything'), ...words, { env });
    const progress = () => {
      const file = join(home.work, 'progress');
      return existsSync(file) ? readFileSync(file, 'utf8') : '0';
    };

    let slowest = { ms: 0, what: '' };
    const timed = async (method, params) => {
      const startedMono = performance.now();
      await wire.request(method, params);
      const ms = performance.now() - startedMono;
      if (ms > slowest.ms) slowest = { ms, what: `${method} ${JSON.stringify(params)}` };
    };
    const memory = { warm: 0, most: 0, descriptors: 0 };
    const startedMono = performance.now();
    await home.waitFor(
      'all messages to be sent',
      async () => {
        const sent = progress();
        expect(sent).not.toBe('cut off');
        for (const { name } of apps) {
          await timed('list', { targets: [name], detail: true });
          await timed('metrics', { targets: [name], detail: true, custom: true });
          await timed('logs', { targets: [name], lines: 5 });
        }
        const bytes = residentBytes(before.keeperPid);
        if (Number(sent) >= WARM) memory.warm ||= bytes;
        if (Number(sent) >= WARM) memory.most = Math.max(memory.most, bytes);
        memory.descriptors = Math.max(memory.descriptors, countDescriptors(before.keeperPid) - descriptors);
        return Number(sent) >= MESSAGES;
      },
      { deadlineMs: TEST_MS / 2 },
    );
    const tookMs = performance.now() - startedMono;
    for (const command of [['describe', 'one'], ['jlist'], ['reload', 'two'], ['stop', 'bad'], ['delete', 'bad']])
      expect(await home.nclust(...command, { timeoutMs: 20_000 })).toMatchObject({ exitStatus: 0 });
    const ledgers = await Promise.all(loads.map((load) => load.stop()));
    const { keeperPid, controlPid } = await home.daemon();
    const left = await home.waitFor('the sockets to be closed', () => {
      const more = countDescriptors(keeperPid) - descriptors;
      return more <= 4 && { more };
    });

    const requests = ledgers.reduce((sum, ledger) => sum + ledger.requests, 0);
    const mb = (bytes) => (bytes / 2 ** 20).toFixed(1);
    process.stdout.write(
      `${MESSAGES} messages in ${(tookMs / 1_000).toFixed(1)} s; ${requests} requests beside them; slowest answer ` +
        `${slowest.ms.toFixed(0)} ms (${slowest.what}); keeper +${mb(memory.most - memory.warm)} MB ` +
        `of ${mb(memory.warm)} MB, +${memory.descriptors} descriptors, +${left.more} at the end\n`,
    );
    for (const ledger of ledgers) expect(ledger).toMatchObject(NOTHING_LOST);
    expect([keeperPid, controlPid]).toEqual([before.keeperPid, before.controlPid]);
    expect(slowest.ms, slowest.what).toBeLessThan(ANSWER_MS * slowdown());
    expect(memory.most - memory.warm).toBeLessThan(GROWTH_MAX_BYTES);
    expect(memory.descriptors).toBeLessThan(SOCKETS_MAX);
  },
);
