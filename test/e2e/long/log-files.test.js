import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { sandbox } from '../../helpers/sandbox.js';

const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

async function exchangeControl(home) {
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
}

test('the log of the manager is rotated, and comes back when it is removed', async () => {
  const home = await sandbox();
  await home.app('http-echo');
  const log = join(home.home, 'nclust.log');
  appendFileSync(log, `${'filler '.repeat(100)}\n`.repeat(15_000));
  await exchangeControl(home);
  const segments = () => readdirSync(home.home).filter((name) => /^nclust__.*\.log/.test(name));
  await home.waitFor('the compressed segment', () => segments().length === 1 && segments()[0].endsWith('.gz'));
  expect(gunzipSync(readFileSync(join(home.home, segments()[0]))).toString()).toMatch(
    /"event":"keeper-started"[^]*filler[^]*"event":"control-started"/,
  );
  await exchangeControl(home);
  const events = () =>
    textOf(log)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .map(({ from, event }) => `${from} ${event}`);
  await home.waitFor(
    'lines of control and keeper',
    () => events().includes('keeper control-ended') && events().includes('control control-ready'),
  );
  expect(statSync(log).size).toBeLessThan(100_000);
  rmSync(log);
  await home.waitFor('the log to come back', () => existsSync(log));
  // The next control prints the stack of a fatal error into the new file, too.
  await exchangeControl(home);
  const { controlPid } = await home.daemon();
  expect([1, 2].map((fd) => readlinkSync(`/proc/${controlPid}/fd/${fd}`))).toEqual([log, log]);
  await home.waitFor('lines of the next control', () => events().includes('control control-ready'));
  expect((await home.nclust('flush')).stdout).toContain(log);
  expect([segments(), textOf(log)]).toEqual([[], '']);
});

test('flush empties the log files of a running app and removes its rotated files', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const [{ outFile, pid }] = await app.instances();
  await home.waitFor('the first line', () => textOf(outFile).includes('listens'));
  const segment = outFile.replace('.log', '__2026-11-21T14-30-00-123Z.log.gz');
  writeFileSync(segment, 'x');
  expect(await home.nclust('flush', app.name)).toMatchObject({
    exitStatus: 0,
    stdout: expect.stringContaining(outFile),
  });
  expect([textOf(outFile), existsSync(segment)]).toEqual(['', false]);
  await home.nclust('restart', app.name);
  await home.waitFor('the first line of the next process', () => textOf(outFile).includes('listens'));
  expect(textOf(outFile)).not.toContain(` ${pid} `);
});

test.each(['reloadLogs', 'SIGUSR2'])(
  '%s makes new lines go to the new file after another program has rotated a log',
  async (how) => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    const [{ outFile }] = await app.instances();
    await home.waitFor('the first line', () => textOf(outFile).includes('listens'));
    renameSync(outFile, `${outFile}.1`);
    if (how === 'reloadLogs') expect(await home.nclust('reloadLogs')).toMatchObject({ exitStatus: 0 });
    else process.kill((await home.daemon()).controlPid, how);
    await home.nclust('restart', app.name);
    await home.waitFor('a line in the new file', () => textOf(outFile).includes('listens'));
    expect((await home.daemon()).keeperPid).toBeGreaterThan(0);
  },
);

test('a changed setting applies to running apps at once and survives the manager', async () => {
  const home = await sandbox();
  expect(await home.nclust('set', 'logs.max_size', '2K')).toMatchObject({ exitStatus: 0 });
  await home.nclust('set', 'logs.max_files', '2');
  await home.nclust('start', home.place('floods-stdout'), '--no-wait', '--no-autorestart', { env: { LINES: '3000' } });
  const [{ outFile }] = await home.list();
  const last = 'floods-stdout out 3000';
  const segments = () => readdirSync(join(home.home, 'logs')).filter((name) => name.startsWith('floods-stdout-out__'));
  await home.waitFor('the app to be listed as stopped', async () => (await home.list())[0].status === 'stopped');
  const newest = () =>
    [
      outFile,
      ...segments()
        .sort()
        .reverse()
        .map((name) => join(home.home, 'logs', name)),
    ].map((file) => (file.endsWith('.gz') ? gunzipSync(readFileSync(file)).toString() : textOf(file)));
  await home.waitFor('the last line', () => newest().some((text) => text.includes(last)));
  await home.waitFor(
    'two compressed segments',
    () => segments().length === 2 && segments().every((name) => name.endsWith('.gz')),
  );
  await home.nclust('kill');
  expect(await home.nclust('get', 'logs.max_size')).toMatchObject({ stdout: '2K\n' });
});
