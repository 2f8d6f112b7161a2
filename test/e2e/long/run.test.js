import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixturePath } from '../../helpers/fixtures.js';
import { pattern } from '../../helpers/pattern.js';
import { isRunning } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

const numbered = (text, stream) => text.split('\n').filter((line) => line.startsWith(`floods-stdout ${stream} `));
const once = '--no-autorestart';

describe('the output of nclust run', () => {
  test('the output of nclust run has all lines of an app that exits at once, in order and by stream', async () => {
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

  test('the output of nclust run is written to a file only if one is named', async () => {
    const home = await sandbox();
    await home.nclust('run', fixturePath('exits-by-itself'), once);
    expect(readdirSync(join(home.home, 'logs')).filter((name) => name.endsWith('.log'))).toEqual([]);
    const named = await home.nclust('run', fixturePath('floods-stdout'), once, '--output', 'out.log', {
      env: { LINES: '10' },
    });
    expect(numbered(named.stdout, 'out')).toHaveLength(10);
    expect(existsSync(join(home.work, 'out.log'))).toBe(true);
  });

  test('the output of nclust run waits for a slow reader and loses no line', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('floods-stdout'), once, { env: { LINES: '60000' } });
    run.child.stdout?.pause();
    const { pid } = await home.waitFor('the app to start', async () =>
      (await home.list()).find((slot) => slot.pid > 0),
    );
    let looks = 0;
    await home.waitFor('the app to block in write(2)', () => {
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

  test('a reader that has gone causes one notice, and the apps run on', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('the first line', () => run.stdout().includes('ticks 1\n'));
    const { pid } = await home.waitFor('the app to be online', async () =>
      (await home.list()).find(({ status }) => status === 'online'),
    );
    run.child.stdout?.destroy();
    await home.waitFor('the notice', () => run.stderr().includes('standard output is closed'));
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
  ])('the output of nclust run has the format of %s', async (option, line) => {
    const home = await sandbox();
    const result = await home.nclust('run', fixturePath('floods-stdout'), once, option, { env: { LINES: '1' } });
    expect(result.stdout.trimEnd()).toMatch(line);
    expect(result.stderr).toBe('');
  });

  test('the output of nclust run continues without a gap after a kill of control', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'), once, { env: { LINES: '3000' } });
    await home.waitFor('500 lines', () => run.stdout().includes('ticks 500\n'));
    process.kill((await home.daemon()).controlPid, 'SIGKILL');
    const result = await run.done;
    expect(result.exitStatus).toBe(0);
    expect(result.stdout.trimEnd().split('\n')).toEqual([
      ...Array.from({ length: 3_000 }, (_, at) => `ticks ${at + 1}`),
      'ticks ended after 3000',
    ]);
  });
});

describe('the exit status of nclust run', () => {
  test.each([
    ['0 when the app exits with 0', { CODE: '0' }, 0],
    ['the exit code of the app', { CODE: '42' }, 42],
    ['128 plus the number of the signal that ended the app', { SIGNAL: 'SIGKILL' }, 137],
  ])('the exit status of nclust run is %s', async (_what, env, exitStatus) => {
    const home = await sandbox();
    expect((await home.nclust('run', fixturePath('crashes-after'), once, { env })).exitStatus).toBe(exitStatus);
  });

  test('the exit status of nclust run is that of an app that crashes repeatedly, once it is given up', async () => {
    const home = await sandbox();
    const result = await home.nclust('run', fixturePath('crashes-at-boot'), '--max-restarts', '2');
    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toMatch(
      pattern(
        /the database is not there[^]*/,
        /nclust: "crashes-at-boot" \(id 0\) failed too often and is not restarted: it exited with code 1/,
        / after \S+\.\n$/,
      ),
    );
  });

  test('the exit status of nclust run is 0 after a stop request if every app stopped', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('names-the-signal'), '-i', '2');
    await home.waitFor('both instances to start', () => run.stdout().match(/is there/g)?.length === 2);
    run.child.kill('SIGTERM');
    const result = await run.done;
    expect(result.exitStatus).toBe(0);
    expect(result.stdout.match(/got SIG/g)).toHaveLength(2);
  });

  test('the exit status of nclust run is 137 with a notice if an app had to be killed', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ignores-sigterm'), '--kill-timeout', '300');
    await home.waitFor('the app to start', () => run.stdout().includes('is there'));
    run.child.kill('SIGINT');
    const result = await run.done;
    expect(result.exitStatus).toBe(137);
    expect(result.stderr).toContain('"ignores-sigterm" (id 0) did not exit in time and was killed.');
  });

  test('the exit status of nclust run is 1 if there is nothing to run, and no process is left', async () => {
    const home = await sandbox();
    const result = await home.nclust('run', 'missing.js');
    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toContain('"missing.js" is not an app');
  });
});

describe('signals to nclust run', () => {
  test('a second stop request kills the app at once', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ignores-sigterm'), '--kill-timeout', '60s');
    await home.waitFor('the app to start', () => run.stdout().includes('is there'));
    run.child.kill('SIGTERM');
    await home.waitFor('the first request to arrive', () => run.stdout().includes('ignores SIG'));
    const startedMono = performance.now();
    // A second signal within 300 ms counts as the same request, so this sends several signals.
    await home.waitFor('nclust run to exit', () => {
      run.child.kill('SIGTERM');
      return performance.now() - startedMono > 400 && run.child.exitCode !== null;
    });
    expect((await run.done).exitStatus).toBe(137);
  });

  test('SIGHUP reloads the apps', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('names-the-signal'));
    const { pid } = await home.waitFor('the app to be online', async () =>
      (await home.list()).find(({ status }) => status === 'online'),
    );
    run.child.kill('SIGHUP');
    await home.waitFor('the new process', async () =>
      (await home.list()).some((slot) => slot.status === 'online' && slot.pid !== pid),
    );
    run.child.kill('SIGQUIT');
    expect((await run.done).exitStatus).toBe(0);
  });
});

describe('the home of nclust run', () => {
  test('the home of nclust run is NCLUST_HOME, so that other commands work on it', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'), '--name', 'api');
    await home.waitFor('the app to be listed', async () => (await home.nclust('id', 'api')).stdout.includes('0'));
    expect((await home.nclust('ping')).exitStatus).toBe(0);
    run.child.kill('SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
    expect((await home.nclust('ping')).exitStatus).toBe(3);
  });

  test('the home of nclust run is a temporary folder without NCLUST_HOME, removed at the end', async () => {
    const home = await sandbox();
    const folder = join(home.work, 'runtime');
    mkdirSync(folder);
    const result = await home.nclust('run', fixturePath('exits-by-itself'), once, {
      env: { NCLUST_HOME: undefined, XDG_RUNTIME_DIR: folder },
    });
    expect(result.exitStatus).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('the home of nclust run has neither an app nor a manager left after nclust run is killed', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('the first line', () => run.stdout().includes('ticks 1\n'));
    run.child.kill('SIGKILL');
    await run.done;
    await home.waitFor('all processes to exit', () => home.processes().length === 0);
    const again = await home.nclust('run', fixturePath('exits-by-itself'), once);
    expect(again.exitStatus).toBe(0);
  });
});

describe('nclust run exits when no app runs', () => {
  test('nclust run stays with --no-auto-exit when no app runs', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('crashes-after'), once, '--no-auto-exit', { env: { CODE: '7' } });
    await home.waitFor('the app to be listed as stopped', async () =>
      (await home.list()).some(({ status }) => status === 'stopped'),
    );
    expect(run.child.exitCode).toBeNull();
    expect((await home.nclust('start', 'crashes-after', '--no-wait')).exitStatus).toBe(0);
    run.child.kill('SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
  });

  test('nclust run exits when its manager is stopped', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('the first line', () => run.stdout().includes('ticks 1\n'));
    expect((await home.nclust('kill')).exitStatus).toBe(0);
    expect((await run.done).exitStatus).toBe(0);
    expect(home.processes()).toEqual([]);
  });

  test('nclust run stays when an app is stopped and started by hand', async () => {
    const home = await sandbox();
    const run = home.follow('run', fixturePath('ticks'));
    await home.waitFor('the first line', () => run.stdout().includes('ticks 1\n'));
    expect((await home.nclust('stop', 'ticks')).exitStatus).toBe(0);
    expect((await home.nclust('start', 'ticks')).exitStatus).toBe(0);
    expect(run.child.exitCode).toBeNull();
    run.child.kill('SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
  });
});

test('nclust run takes a config file with --only and --env, and the word "start" as pm2-runtime does', async () => {
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

test('nclust run --web prints that run has no web interface, and a wrong --delay is refused', async () => {
  const home = await sandbox();
  expect((await home.nclust('run', fixturePath('exits-by-itself'), once, '--web')).stderr).toContain(
    'run has no web interface',
  );
  expect(await home.nclust('run', fixturePath('exits-by-itself'), '--delay', 'soon')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('--delay is "soon"; accepted: seconds'),
  });
});
