import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixturePath } from '../../helpers/fixtures.js';
import { pattern } from '../../helpers/pattern.js';
import { isRunning } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

const numbered = (/** @type {string} */ text, /** @type {string} */ stream) =>
  text.split('\n').filter((line) => line.startsWith(`floods-stdout ${stream} `));
const once = '--no-autorestart';

describe('the output of the apps', () => {
  test('run gives all 10,000 lines of an app that exits at once, in order, by stream, with its exit code', async () => {
    const home = await sandbox();
    const result = await home.nclust('run', fixturePath('floods-stdout'), once, {
      env: { LINES: '10000', END: 'exit' },
    });
    expect(result.exitStatus).toBe(3);
    expect(result.stdout).toBe(Array.from({ length: 10_000 }, (_, at) => `floods-stdout out ${at + 1}\n`).join(''));
    expect(result.stderr).toBe(
      Array.from({ length: 1_000 }, (_, at) => `floods-stdout err ${(at + 1) * 10}\n`).join(''),
    );
  });

  test('is on no disk, unless a file is named', async () => {
    const home = await sandbox();
    await home.nclust('run', fixturePath('exits-by-itself'), once);
    expect(readdirSync(join(home.home, 'logs')).filter((name) => name.endsWith('.log'))).toEqual([]);
    const named = await home.nclust('run', fixturePath('floods-stdout'), once, '--output', 'out.log', {
      env: { LINES: '10' },
    });
    expect(numbered(named.stdout, 'out')).toHaveLength(10);
    expect(existsSync(join(home.work, 'out.log'))).toBe(true);
  });

  test('waits for a reader that is slow, and nothing of it is lost', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('floods-stdout'), once, { env: { LINES: '60000' } });
    run.child.stdout?.pause();
    const { pid } = await home.waitFor('the app', async () => (await home.list()).find((slot) => slot.pid > 0));
    let looks = 0;
    await home.waitFor('the app to wait in write(2), for good', () => {
      looks = readFileSync(`/proc/${pid}/wchan`, 'latin1').includes('pipe') ? looks + 1 : 0;
      return looks > 30;
    });
    run.child.stdout?.resume();
    const result = await run.done;
    expect(result.exitStatus).toBe(0);
    expect(numbered(result.stdout, 'out')).toEqual(
      Array.from({ length: 60_000 }, (_, at) => `floods-stdout out ${at + 1}`),
    );
  });

  test('nobody reads it any more: the apps live on, and it is told', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('a line', () => run.stdout().includes('ticks 1\n'));
    const { pid } = await home.waitFor('the app', async () =>
      (await home.list()).find(({ status }) => status === 'online'),
    );
    run.child.stdout?.destroy();
    await home.waitFor('the sentence', () => run.stderr().includes('nobody reads standard output any more'));
    expect(isRunning(pid)).toBe(true);
    run.child.kill('SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
  });

  test.each([
    [
      '--json',
      pattern(
        /^\{"message":"floods-stdout out 1","timestamp":"[^"]+Z","type":"out",/,
        /"process_id":0,"app_name":"floods-stdout"\}$/,
      ),
    ],
    ['--format', /^timestamp=\S+ app=floods-stdout id=0 type=out message=floods-stdout out 1$/],
    ['--formatted', /^\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d floods-stdout floods-stdout out 1$/],
    ['--raw', /^floods-stdout out 1$/],
  ])('with %s has another shape', async (option, line) => {
    const home = await sandbox();
    const result = await home.nclust('run', fixturePath('floods-stdout'), once, option, { env: { LINES: '1' } });
    expect(result.stdout.trimEnd()).toMatch(line);
    expect(result.stderr).toBe('');
  });

  test('goes on when control is killed, without a gap', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'), once, { env: { LINES: '3000' } });
    await home.waitFor('lines', () => run.stdout().includes('ticks 500\n'));
    process.kill((await home.daemon()).controlPid, 'SIGKILL');
    const result = await run.done;
    expect(result.exitStatus).toBe(0);
    expect(result.stdout.trimEnd().split('\n')).toEqual([
      ...Array.from({ length: 3_000 }, (_, at) => `ticks ${at + 1}`),
      'ticks ended after 3000',
    ]);
  });
});

describe('its exit status', () => {
  test.each([
    ['0 when the app exits with 0', { CODE: '0' }, 0],
    ['the exit code of the app', { CODE: '42' }, 42],
    ['128 and the signal that ended it', { SIGNAL: 'SIGKILL' }, 137],
  ])('is %s', async (_what, env, exitStatus) => {
    const home = await sandbox();
    expect((await home.nclust('run', fixturePath('crashes-after'), once, { env })).exitStatus).toBe(exitStatus);
  });

  test('is that of an app that crashes again and again, as soon as it is given up', async () => {
    const home = await sandbox();
    const result = await home.nclust('run', fixturePath('crashes-at-boot'), '--max-restarts', '2');
    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toMatch(
      pattern(
        /the database is not there[^]*/,
        /nclust: "crashes-at-boot" \(id 0\) failed too often and is not restarted: it exited with code 1\.\n$/,
      ),
    );
  });

  test('is 0 when it was told to stop and everything did', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('names-the-signal'), '-i', '2');
    await home.waitFor('both', () => run.stdout().match(/is there/g)?.length === 2);
    run.child.kill('SIGTERM');
    const result = await run.done;
    expect(result.exitStatus).toBe(0);
    expect(result.stdout.match(/got SIG/g)).toHaveLength(2);
  });

  test('is 137 when an app had to be killed, and that is told', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ignores-sigterm'), '--kill-timeout', '300');
    await home.waitFor('the app', () => run.stdout().includes('is there'));
    run.child.kill('SIGINT');
    const result = await run.done;
    expect(result.exitStatus).toBe(137);
    expect(result.stderr).toContain('"ignores-sigterm" (id 0) did not exit in time and was killed.');
  });

  test('is 1 when there is nothing that could be run, and nothing is left behind', async () => {
    const home = await sandbox();
    const result = await home.nclust('run', 'missing.js');
    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toContain('"missing.js" is no app');
  });
});

describe('signals', () => {
  test('a second request to stop does not wait for the app', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ignores-sigterm'), '--kill-timeout', '60s');
    await home.waitFor('the app', () => run.stdout().includes('is there'));
    run.child.kill('SIGTERM');
    await home.waitFor('the first to arrive', () => run.stdout().includes('ignores SIG'));
    const startedMono = performance.now();
    // Within 300 ms it would count as the same request.
    await home.waitFor('the end', () => {
      run.child.kill('SIGTERM');
      return performance.now() - startedMono > 400 && run.child.exitCode !== null;
    });
    expect((await run.done).exitStatus).toBe(137);
  });

  test('SIGHUP reloads the apps', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('names-the-signal'));
    const { pid } = await home.waitFor('the app', async () =>
      (await home.list()).find(({ status }) => status === 'online'),
    );
    run.child.kill('SIGHUP');
    await home.waitFor('another process', async () =>
      (await home.list()).some((slot) => slot.status === 'online' && slot.pid !== pid),
    );
    run.child.kill('SIGQUIT');
    expect((await run.done).exitStatus).toBe(0);
  });
});

describe('its home', () => {
  test('is NCLUST_HOME, so that other commands reach it', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'), '--name', 'api');
    await home.waitFor('the app', async () => (await home.nclust('id', 'api')).stdout.includes('0'));
    expect((await home.nclust('ping')).exitStatus).toBe(0);
    run.child.kill('SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
    expect((await home.nclust('ping')).exitStatus).toBe(3);
  });

  test('is a folder of its own without it, which is gone afterwards', async () => {
    const home = await sandbox();
    const folder = join(home.work, 'runtime');
    mkdirSync(folder);
    const result = await home.nclust('run', fixturePath('exits-by-itself'), once, {
      env: { NCLUST_HOME: undefined, XDG_RUNTIME_DIR: folder },
    });
    expect(result.exitStatus).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('ends with it: when it is killed no app and no manager stays', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('a line', () => run.stdout().includes('ticks 1\n'));
    run.child.kill('SIGKILL');
    await run.done;
    await home.waitFor('the end of all', () => home.processes().length === 0);
    const again = await home.nclust('run', fixturePath('exits-by-itself'), once);
    expect(again.exitStatus).toBe(0);
  });
});

describe('it ends when nothing runs any more', () => {
  test('which it does not with --no-auto-exit', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('crashes-after'), once, '--no-auto-exit', { env: { CODE: '7' } });
    await home.waitFor('the end of the app', async () =>
      (await home.list()).some(({ status }) => status === 'stopped'),
    );
    expect(run.child.exitCode).toBeNull();
    expect((await home.nclust('start', 'crashes-after', '--no-wait')).exitStatus).toBe(0);
    run.child.kill('SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
  });

  test('and when somebody ends its manager', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('a line', () => run.stdout().includes('ticks 1\n'));
    expect((await home.nclust('kill')).exitStatus).toBe(0);
    expect((await run.done).exitStatus).toBe(0);
    expect(home.processes()).toEqual([]);
  });

  test('and an app that is stopped and started again by hand has not ended', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('a line', () => run.stdout().includes('ticks 1\n'));
    expect((await home.nclust('stop', 'ticks')).exitStatus).toBe(0);
    expect((await home.nclust('start', 'ticks')).exitStatus).toBe(0);
    expect(run.child.exitCode).toBeNull();
    run.child.kill('SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
  });
});

test('a config file is run, with --only, --env and "start" in front as pm2-runtime takes them', async () => {
  const home = await sandbox();
  writeFileSync(
    join(home.work, 'says.cjs'),
    'console.log(process.env.name, process.env.WHO); process.exitCode = process.env.name === "b" ? 4 : 0;',
  );
  writeFileSync(
    join(home.work, 'ecosystem.config.cjs'),
    `module.exports = { apps: ['a', 'b'].map((name) => ({ name, script: 'says.cjs', autorestart: false, ` +
      `env_production: { WHO: 'prod' } })) };`,
  );
  const all = await home.nclust('run', 'ecosystem.config.cjs', '--env', 'production');
  expect(all.stdout.trim().split('\n').sort()).toEqual(['a prod', 'b prod']);
  expect(all.exitStatus).toBe(4);
  const one = await home.nclust('run', 'start', 'ecosystem.config.cjs', '--only', 'a');
  expect([one.stdout, one.exitStatus]).toEqual(['a undefined\n', 0]);
});

test('--web says in one sentence that there is none; a wrong --delay is refused', async () => {
  const home = await sandbox();
  expect((await home.nclust('run', fixturePath('exits-by-itself'), once, '--web')).stderr).toContain(
    'there is no web interface',
  );
  expect(await home.nclust('run', fixturePath('exits-by-itself'), '--delay', 'soon')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('--delay is "soon"; accepted: seconds'),
  });
});
