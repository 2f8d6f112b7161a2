import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serve } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';
import { detailOf, triggered, untilTriggered, untilWatching } from '../../helpers/triggers.js';

const QUICK = ['--min-uptime', '100'];

async function watched(flags = ['--watch'], instances = 2) {
  const home = await sandbox();
  mkdirSync(join(home.work, 'src'));
  const app = await serve(home, 'http-echo', { instances, flags: [...QUICK, ...flags] });
  await untilWatching(home, app.name);
  const save = (file) => writeFileSync(join(home.work, file), String(Math.random()));
  return { home, app, save };
}

describe('watch', () => {
  test('watch reloads every instance once for a thousand changed files, and the deaths name the cause', async () => {
    const { home, app, save } = await watched();
    const before = await app.pids();
    for (let n = 0; n < 1_000; n++) save(`src/f${n}.js`);
    await untilTriggered(home, app.name, /and \d+ more/);
    const after = await app.instances();
    expect(after).toMatchObject([
      {
        status: 'online',
        watching: true,
        lastDeath: { cause: 'reload', by: expect.stringMatching(/^watch: src\/f\d+\.js changed, and \d+ more$/) },
      },
      { status: 'online' },
    ]);
    expect(after.filter(({ pid }) => before.includes(pid))).toEqual([]);
    // Changes one more file. If the thousand files caused a second reload, it would happen before
    // the reload for this file.
    save('src/last.js');
    // The trigger may also name the folder of the file.
    await untilTriggered(home, app.name, /last\.js changed/);
    expect(triggered(home)).toHaveLength(2);
    expect((await home.nclust('describe', app.name)).stdout).toMatch(
      /watch & reload.*last trigger.*watch: src\/last\.js changed/s,
    );
  });

  test('watch does not load code with a syntax error, and loads the next save', async () => {
    const { home, app } = await watched();
    const before = await app.pids();
    appendFileSync(app.script, 'not code (');
    expect(await untilTriggered(home, app.name, /http-echo\.js/)).toMatchObject({
      problem: expect.stringContaining('does not parse'),
    });
    expect(await app.pids()).toEqual(before);
    expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
    app.replaceWith('http-echo');
    await home.waitFor('the new instances', async () =>
      (await app.instances()).every(({ pid, status }) => status === 'online' && !before.includes(pid)),
    );
  });

  test('watch ignores node_modules, dotfiles, the log of the app, and the patterns of the user', async () => {
    const { home, app, save } = await watched([
      '--watch',
      '--ignore-watch',
      'tmp',
      '--ignore-watch',
      '*.txt',
      '--ignore-watch',
      'public/*',
      '-o',
      'out.log',
      '-p',
      'app.pid',
      '--merge-logs',
    ]);
    for (const folder of ['node_modules/x', '.git', 'tmp', 'public'])
      mkdirSync(join(home.work, folder), { recursive: true });
    await untilTriggered(home, app.name, /public changed/); // A new folder is a change.
    for (const file of ['node_modules/x/a.js', '.git/HEAD', '.env', 'tmp/a.js', 'a.txt', 'public/a.css', 'out.log'])
      save(file);
    save('src/seen.js');
    await untilTriggered(home, app.name, /seen/);
    expect(triggered(home).slice(1)).toEqual([expect.stringMatching(/^watch: src\/seen\.js changed/)]);
  });

  test('watch obeys its paths, extensions and delay', async () => {
    const { home, app, save } = await watched(['--watch', 'src', '--ext', 'js,json', '--watch-delay', '300ms']);
    for (const file of ['a.js', 'src/a.css']) save(file);
    save('src/a.json');
    await untilTriggered(home, app.name, /./);
    expect(triggered(home)).toEqual([expect.stringMatching(/^watch: src\/a\.json changed/)]);
  });

  test('watch follows a folder that is created later or again, and a link that changes its target', async () => {
    const home = await sandbox();
    const at = (name) => join(home.work, name);
    mkdirSync(at('release-1'));
    mkdirSync(at('release-2'));
    symlinkSync(at('release-1'), at('current'));
    const app = await home.app('http-echo', { flags: [...QUICK, '--watch', 'later', '--watch', 'current'] });
    await untilWatching(home, app.name);
    expect((await home.nclust('describe', app.name)).stdout).toMatch(/watch problem.*later" does not exist/);

    mkdirSync(at('later'));
    await untilTriggered(home, app.name, /watch: later changed/);
    await untilWatching(home, app.name);
    writeFileSync(at('later/a.js'), '1');
    await untilTriggered(home, app.name, /later\/a\.js/);
    rmSync(at('later'), { recursive: true });
    await home.waitFor(
      'watch to report the missing folder',
      async () => (await detailOf(home, app.name)).triggers.watch?.problem,
    );
    mkdirSync(at('later'));
    await home.waitFor('watch to follow the new folder', async () => {
      const watch = (await detailOf(home, app.name)).triggers.watch;
      return watch?.isReady && watch.problem === null;
    });
    writeFileSync(at('later/b.js'), '1');
    await untilTriggered(home, app.name, /later\/b\.js/);

    symlinkSync(at('release-2'), at('next'));
    renameSync(at('next'), at('current'));
    await untilTriggered(home, app.name, /watch: current changed/);
    await untilWatching(home, app.name);
    writeFileSync(at('release-2/c.js'), '1');
    await untilTriggered(home, app.name, /current\/c\.js/);
  });

  test('watch restarts a program that does not listen, and starts one that was given up', async () => {
    const home = await sandbox();
    const script = join(home.work, 'worker.js');
    writeFileSync(script, 'setInterval(() => {}, 1000)');
    expect(
      await home.nclust(
        'start',
        script,
        '--watch',
        '--max-restarts',
        '1',
        '--exp-backoff-restart-delay',
        '10',
        '--min-uptime',
        '1500',
      ),
    ).toMatchObject({ exitStatus: 0 });
    await untilWatching(home, 'worker');
    const [{ pid }] = await home.list();
    writeFileSync(script, 'process.exit(1)');
    await untilTriggered(home, 'worker', /./);
    await home.waitFor('the app to be given up', async () => (await home.list())[0].status === 'errored');
    writeFileSync(script, 'setInterval(() => {}, 2000)');
    await home.waitFor('the app to be online', async () => {
      const [slot] = await home.list();
      return slot.status === 'online' && slot.pid !== pid;
    });
  });
});

describe('watch in commands', () => {
  test('watch is paused by stop, ended by stop --watch, and toggled by restart --watch', async () => {
    const { home, app } = await watched(['--watch', 'src'], 1);
    const seen = [];
    for (const words of [
      ['stop'],
      ['start'],
      ['stop', '--watch'],
      ['start'],
      ['restart', '--watch'],
      ['restart', '--watch'],
    ]) {
      expect(await home.nclust(words[0], app.name, ...words.slice(1))).toMatchObject({ exitStatus: 0 });
      const { watching, triggers } = await detailOf(home, app.name);
      seen.push([words.join(' '), watching, triggers.watch?.paths ?? null]);
    }
    const src = [join(home.work, 'src')];
    expect(seen).toEqual([
      ['stop', false, null],
      ['start', true, src],
      ['stop --watch', false, null],
      ['start', false, null],
      ['restart --watch', true, src],
      ['restart --watch', false, null],
    ]);
    expect(JSON.parse((await home.nclust('jlist')).stdout)[0].pm2_env.watch).toBe(false);
  });

  test('watch is turned on by start --watch before the script', async () => {
    const home = await sandbox();
    home.place('keeps-alive');
    expect(await home.nclust('start', '--watch', 'keeps-alive.js', '--name', 'k')).toMatchObject({ exitStatus: 0 });
    expect(JSON.parse((await home.nclust('jlist')).stdout)).toMatchObject([{ name: 'k', pm2_env: { watch: true } }]);
  });

  test('watch continues with the next control', async () => {
    const { home, app, save } = await watched(['--watch'], 1);
    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
    await untilWatching(home, app.name);
    save('src/a.js');
    await untilTriggered(home, app.name, /src\/a\.js/);
  });
});
