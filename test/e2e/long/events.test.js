import { readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pattern } from '../../helpers/pattern.js';
import { sandbox } from '../../helpers/sandbox.js';

const parsed = (stdout) =>
  stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

test('every command quotes the same error line and place, also after control has died', async () => {
  const home = await sandbox();
  const quote = '"Error: crashes-at-boot: the database is not there" in crashes-at-boot.js:2';
  const flags = ['--name', 'api', '--max-restarts', '1', '--exp-backoff-restart-delay', '10'];
  const started = await home.nclust('start', home.place('crashes-at-boot'), ...flags);
  expect(started.stderr).toContain(`, ${quote}.`);
  expect(started.stderr).toContain('|     at Object.<anonymous>');
  await home.waitFor('the app to be given up', async () => (await home.list())[0].status === 'errored');
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);

  for (const words of [['why'], ['why', 'api'], ['describe', 'api'], ['events', 'api', '--nostream']])
    expect((await home.nclust(...words)).stdout).toContain(quote);
  expect((await home.list())[0].lastDeath).toMatchObject({
    words: 'Error: crashes-at-boot: the database is not there',
    frame: 'crashes-at-boot.js:2',
  });
  expect(readFileSync(join(home.home, 'nclust.log'), 'utf8')).not.toContain('the database is not there');
});

test('why names the cause of an app that is down, with or without a manager', async () => {
  const home = await sandbox();
  await home.nclust(
    'start',
    home.place('crashes-at-boot'),
    '--name',
    'api',
    '--max-restarts',
    '3',
    '--exp-backoff-restart-delay',
    '10',
  );
  await home.waitFor('the app to be given up', async () => (await home.list())[0].status === 'errored');

  const answer = await home.nclust('why', 'api');
  expect(answer).toMatchObject({ exitStatus: 0, stderr: '' });
  expect(answer.stdout).toMatch(
    pattern(
      /^bad {2}api {2}is down and is no longer restarted: it crashed 4 times within .*; the last time it /,
      /exited with code \d+ after \S+, ".+" in crashes-at-boot\.js:2, since .*\n/,
      / +nclust logs api --err; then: nclust start api\n/,
      /api is errored since .*\.\n/,
    ),
  );
  expect(answer.stdout).toMatch(
    pattern(
      /was added \(nclust start\), with 1 instance\n/,
      /.*instance 0 crashed 4 times within .*\n/,
      /.*is not restarted: 4 unstable exits/,
    ),
  );
  expect(answer.stdout).toContain('Last output of instance 0');
  expect((await home.nclust('why', 'api', '--json')).json()).toMatchObject([
    { app: 'api', status: 'errored', troubles: [{ kind: 'errored', level: 'bad' }] },
  ]);
  expect(await home.nclust('why', 'nobody')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('"nobody"'),
  });

  await home.nclust('kill');
  const later = await home.nclust('why', 'api');
  expect(later).toMatchObject({
    exitStatus: 0,
    stdout: expect.stringMatching(/^nclust is not running, .* it exited with code \d+/),
  });
  expect(home.processes()).toEqual([]);
});

test('events follows across kills of control, and neither misses nor repeats an event', async () => {
  const home = await sandbox();
  await home.app('http-echo', { name: 'api', instances: 2 });
  const follower = home.follow('events', '--json');
  await home.waitFor('the past events', () => follower.stdout().includes('"ready"'));
  for (let round = 0; round < 3; round++) {
    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor(
      'the next control',
      async () => (await home.daemon().catch(() => null))?.controlPid !== controlPid,
    );
    expect(await home.nclust('reload', 'api')).toMatchObject({ exitStatus: 0 });
  }
  await home.nclust('stop', 'api');
  const written = () => parsed(readFileSync(join(home.home, 'events.log'), 'utf8'));
  await home.waitFor('eight deaths', () => follower.stdout().split('"died"').length - 1 === 8);
  expect(parsed(follower.stdout())).toEqual(written());
  follower.child.kill('SIGINT');
  await follower.done;

  const all = written();
  const once = all.filter(({ instanceId }) => instanceId).map(({ type, instanceId }) => `${type} ${instanceId}`);
  expect(new Set(once).size).toBe(once.length);
  expect(all.filter(({ type }) => type === 'started')).toHaveLength(8);
  expect(all.filter(({ type }) => type === 'rollout:done')).toHaveLength(3);
  expect(all.filter(({ type }) => type === 'manager:ready')).toHaveLength(4);
  const halts = await home.nclust('events', 'api', '--nostream', '--type', 'rollout:*,stop', '--lines', '3', '--json');
  expect(parsed(halts.stdout).map(({ type }) => type)).toEqual(['rollout:step', 'rollout:done', 'stop']);
});

test('an event log that is cut in the middle of a line loads and can be extended', async () => {
  const home = await sandbox();
  await home.app('http-echo', { name: 'api' });
  const path = join(home.home, 'events.log');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await home.nclust('kill');
  truncateSync(path, statSync(path).size - 5);
  await home.nclust('resurrect');
  const { stdout, exitStatus } = await home.nclust('events', '--nostream', '--since', '1h', '--json');
  expect(exitStatus).toBe(0);
  expect(parsed(stdout).filter(({ type }) => type === 'started')).toHaveLength(2);
});
