import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isRunning, killIfThere } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

const NOBODY = 65_534;

test.runIf(process.getuid?.() === 0)(
  'a process of another user with the environment of an instance is not adopted, and no app waits for it',
  async () => {
    const home = await sandbox();
    const app = await home.app('keeps-alive', { name: 'idle' });
    const [{ id, pid: appPid }] = await app.instances();
    const env = { NCLUST_HOME: home.home, NCLUST_INSTANCE: 'planted', name: 'idle', pm_id: String(id) };
    const planted = spawn('/bin/sleep', ['1000'], { env, uid: NOBODY, cwd: '/', stdio: 'ignore' });
    await once(planted, 'spawn');
    const pid = planted.pid ?? 0;
    onTestFinished(() => killIfThere(pid));

    const { keeperPid, controlPid } = await home.daemon();
    // Stops control first, because control would start a keeper.
    process.kill(controlPid, 'SIGSTOP');
    for (const one of [keeperPid, controlPid, appPid]) process.kill(Number(one), 'SIGKILL');
    expect(await home.nclust('resurrect')).toMatchObject({ exitStatus: 0 });
    await home.waitFor('the app to be online', async () =>
      (await app.instances()).every(({ status }) => status === 'online'),
    );
    expect(readFileSync(join(home.home, 'nclust.log'), 'utf8')).not.toContain('orphans-found');
    expect(isRunning(pid)).toBe(true);

    planted.kill('SIGKILL');
    await once(planted, 'exit');
  },
);
