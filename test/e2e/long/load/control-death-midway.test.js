import { expect, test } from 'vitest';
import { ledgerLine, startLoad } from '../../../helpers/load.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { pause } from '../../../helpers/wait-for.js';

test.each([
  [
    'start',
    ['start', 'SCRIPT', '--name', 'second', '-i', '2', '--min-uptime', '200'],
    (names) => names.filter((name) => name === 'second').length === 2,
  ],
  ['scale up', ['scale', 'http-echo', '4'], (names) => names.filter((name) => name === 'http-echo').length === 4],
  ['scale down', ['scale', 'http-echo', '1'], (names) => names.filter((name) => name === 'http-echo').length === 1],
  ['restart', ['restart', 'http-echo'], (names) => names.length === 2],
  ['stop', ['stop', 'worker'], (names) => names.length === 3],
])(
  'SIGKILL of control during %s fails neither the command nor a request, and the change is complete',
  async (verb, words, isReached) => {
    for (const afterMs of [0, 60, 140, 260]) {
      const home = await sandbox();
      const app = await home.app('http-echo', { instances: 2 });
      if (verb === 'stop') await home.app('keeps-alive', { name: 'worker', flags: ['--min-uptime', '100'] });
      const script = home.place('keeps-alive', 'second.js');
      const { controlPid } = await home.daemon();
      const load = startLoad(app.url, { connections: 2, timeoutMs: 4_000 });

      const command = home.nclust(...words.map((word) => (word === 'SCRIPT' ? script : word)));
      await pause(afterMs);
      process.kill(controlPid, 'SIGKILL');
      expect(await command, `killed after ${afterMs} ms`).toMatchObject({ exitStatus: 0 });

      const slots = await home.waitFor('the change to be complete', async () => {
        const listed = await home.list();
        const isSettled = listed.every(
          (slot) => slot.status === (slot.name === 'worker' && verb === 'stop' ? 'stopped' : 'online'),
        );
        return isSettled && isReached(listed.map((slot) => slot.name)) && listed;
      });
      const ledger = await load.stop();
      console.log(`${verb}, killed after ${afterMs} ms: ${ledgerLine(ledger)}`);
      expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
      const running = home
        .processes()
        .filter((one) => one.role === 'app')
        .map((one) => one.pid);
      expect(running.sort()).toEqual(
        slots
          .map((slot) => slot.pid)
          .filter(Boolean)
          .sort(),
      );
      await home.close();
    }
  },
);
