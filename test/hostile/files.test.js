// The user of the app replaces every path that the app or its config names. Afterwards nothing
// outside of the app's own folder has changed, and no command has hung.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { isRoot, NOBODY, SECRET, userFolders } from '../helpers/other-user.js';
import { takePort } from '../helpers/ports.js';
import { runProgram } from '../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../helpers/sandbox.js';
import { askRaw } from '../helpers/static-server.js';
/** @import { UserFolders } from '../helpers/other-user.js' */
/** @import { Sandbox } from '../helpers/sandbox.js' */

const [, CANARY] = SECRET.split('=');
const ROUNDS = 10_000;

/**
 * Time limit of a command, in ms. A reload of an app that cannot start ends only when the app stops
 * making progress: with a script that leads to /dev/zero, Node.js reads for 20 s before it fails.
 */
const COMMAND_MS = 90_000;

/**
 * @typedef {object} Stage
 * @property {Sandbox} home
 * @property {string} own
 * @property {string} closed  Must stay untouched.
 * @property {UserFolders['plant']} plant
 * @property {(...words: string[]) => Promise<void>} run  The command may fail, but must not hang
 *   or print the secret.
 * @property {() => void} expectUntouched
 */

async function openStage() {
  // Creates the folders first, so that they are removed last, after the manager has exited.
  const { own, closed, plant } = userFolders();
  const home = await sandbox();
  for (const name of ['cwd', 'logs', 'run', 'site', '.git', '.git/refs', '.git/refs/heads']) mkdirSync(join(own, name));
  writeFileSync(join(own, 'site/index.html'), 'page\n');
  writeFileSync(join(own, '.git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(own, '.git/refs/heads/main'), `${'a'.repeat(40)}\n`);
  writeFileSync(join(own, '.git/config'), '[remote "origin"]\n\turl = https://example.org/app\n');
  writeFileSync(join(own, '.env'), 'FROM_FILE=1\n');
  writeFileSync(join(own, 'token'), 'token\n');
  cpSync(fixturePath('works-for-nobody.cjs'), join(own, 'app.cjs'));
  symlinkSync(nodeUnderTest(), join(own, 'node'));
  giveToNobody(own);
  writeFileSync(
    join(home.work, 'apps.json'),
    JSON.stringify({
      apps: [
        {
          name: 'app',
          script: join(own, 'app.cjs'),
          cwd: join(own, 'cwd'),
          interpreter: join(own, 'node'),
          exec_mode: 'cluster',
          instances: 1,
          uid: 'nobody',
          gid: 'nogroup',
          output: join(own, 'logs/out.log'),
          error: join(own, 'logs/err.log'),
          log: join(own, 'logs/all.log'),
          log_max_size: '4K',
          pid: join(own, 'run/app.pid'),
          env_file: join(own, '.env'),
          secrets: { TOKEN: { file: join(own, 'token') } },
          env: { SOCK: join(own, 'app.sock') },
          listen_timeout: 3_000,
          kill_timeout: 1_000,
        },
      ],
    }),
  );
  const before = shapeOf(closed);
  return {
    home,
    own,
    closed,
    plant,
    async run(...words) {
      const { stdout, stderr } = await home.nclust(...words, { timeoutMs: COMMAND_MS });
      expect(stdout + stderr, words.join(' ')).not.toContain(CANARY);
    },
    expectUntouched() {
      expect(shapeOf(closed)).toEqual(before);
      expect(textsBelow(own)).not.toContain(CANARY);
      expect(textsBelow(home.home)).not.toContain(CANARY);
    },
  };
}

/** @param {string} path  If the path is a hard link to a file of root, root keeps the file. */
function giveToNobody(path) {
  const stat = lstatSync(path);
  if (stat.isDirectory() || stat.nlink === 1) lchownSync(path, NOBODY.uid, NOBODY.gid);
  if (stat.isDirectory()) for (const name of readdirSync(path)) giveToNobody(join(path, name));
}

function shapeOf(path) {
  const { ino, mode, uid, gid, nlink, size } = lstatSync(path);
  const isFolder = lstatSync(path).isDirectory();
  const content = isFolder
    ? readdirSync(path).map((name) => [name, shapeOf(join(path, name))])
    : createHash('sha256').update(readFileSync(path)).digest('hex');
  return { ino, mode, uid, gid, nlink: isFolder ? null : nlink, size: isFolder ? null : size, content };
}

function textsBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ((lstatSync(path, { throwIfNoEntry: false })?.size ?? Infinity) < 10_000_000 ? textOf(path) : ''))
    .join('\n');
}

function textOf(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''; // The manager has rotated the file.
    throw error;
  }
}

const PLANTS = {
  'a link to a file of root': (path, closed) => symlinkSync(join(closed, 'secret'), path),
  'a link to a pid of root': (path, closed) => symlinkSync(join(closed, 'number'), path),
  'a link to a folder of root': (path, closed) => symlinkSync(join(closed, 'empty'), path),
  'a link to nothing': (path, closed) => symlinkSync(join(closed, 'new'), path),
  'a named pipe': (path) => execFileSync('mkfifo', [path]),
  'a folder': (path) => mkdirSync(path),
  'a link to a device': (path) => symlinkSync('/dev/zero', path),
  'a file of 1 GB': (path) => {
    writeFileSync(path, '');
    truncateSync(path, 1024 ** 3);
  },
};

const PLACES = [
  'cwd',
  'logs/out-0.log',
  'logs/err-0.log',
  'logs/all-0.log',
  'logs',
  'run/app-0.pid',
  'run',
  '.env',
  'token',
  '.git',
  '.git/HEAD',
  '.git/config',
  '.git/packed-refs',
  'app.sock',
  'app.cjs',
  'node',
];

describe.runIf(isRoot)('the user of an app', () => {
  test.each(PLACES)('a user gains nothing by planting files in place of %s', { timeout: 600_000 }, async (place) => {
    const { home, own, closed, plant, run, expectUntouched } = await openStage();
    await run('start', join(home.work, 'apps.json'));
    const path = join(own, place);
    for (const make of Object.values(PLANTS)) {
      replace(
        path,
        plant(`${place}.planted`, (planted) => make(planted, closed)),
      );
      for (const command of ['reload', 'restart', 'flush', 'describe', 'logs'])
        await run(command, 'app', ...(command === 'logs' ? ['--nostream', '--lines', '100'] : []));
      expectUntouched();
    }
    await run('stop', 'app');
    await run('delete', 'app');
    expectUntouched();
  });

  test('a user gains nothing by planting other files in place of a static folder', { timeout: 600_000 }, async () => {
    const { own, closed, plant, run, expectUntouched } = await openStage();
    const port = await takePort();
    const site = join(own, 'site');
    await run('serve', site, String(port), '--ftp', '--cwd', own, '--uid', 'nobody', '--gid', 'nogroup');
    expect(await askRaw(port, '/')).toMatchObject({ status: 200, body: 'page\n' });
    for (const make of Object.values(PLANTS)) {
      replace(
        site,
        plant('site.planted', (planted) => make(planted, closed)),
      );
      for (const path of ['/', '/secret', '/../closed/secret', '/%2e%2e/closed/secret'])
        expect((await askRaw(port, path)).body, path).not.toContain(CANARY);
      await run('reload', 'all'); // If the reload fails, the old server continues.
      expectUntouched();
    }
  });

  test('a user gains nothing by planting log segments and unfinished segments', { timeout: 120_000 }, async () => {
    const { home, own, closed, run, expectUntouched } = await openStage();
    const segment = (day) => join(own, `logs/out-0__2026-01-0${day}T00-00-00-000Z.log`);
    symlinkSync(join(closed, 'secret'), segment(1));
    linkSync(join(closed, 'number'), segment(2));
    symlinkSync(join(closed, 'secret'), `${segment(3)}.gz`);
    for (const day of [4, 5, 6]) {
      writeFileSync(segment(day), 'x'.repeat(100_000));
      symlinkSync(join(closed, day === 6 ? 'new' : 'secret'), `${segment(day)}.gz.tmp`);
    }
    execFileSync('mkfifo', [segment(7)]);
    giveToNobody(join(own, 'logs'));
    await run('start', join(home.work, 'apps.json'));
    await home.waitFor('a rotated log file to be compressed', () =>
      readdirSync(join(own, 'logs')).some((name) => /^out-0__(?!2026-01-0).*\.gz$/.test(name)),
    );
    await run('logs', 'app', '--nostream', '--lines', '5000');
    // Removes the hard link to a file of root, because the user of the app could not have made it.
    rmSync(segment(2), { force: true });
    expectUntouched();
  });

  test(
    `a user gains nothing by ${ROUNDS} exchanges of its files while the manager uses them`,
    { timeout: 600_000 },
    async () => {
      const { home, own, closed, plant, run, expectUntouched } = await openStage();
      await run('start', join(home.work, 'apps.json'));
      const names = {
        logs: 'empty',
        run: 'empty',
        '.env': 'secret',
        token: 'secret',
        '.git': 'empty',
        'app.sock': 'new',
      };
      for (const [name, target] of Object.entries(names))
        plant(`${name}.other`, (path) => symlinkSync(join(closed, target), path));
      const renamer = runProgram(nodeUnderTest(), [fixturePath('renames-for-ever.cjs'), ...Object.keys(names)], {
        cwd: own,
        env: {},
        ...NOBODY,
        timeoutMs: 500_000,
      });
      onTestFinished(() => void renamer.child.kill('SIGKILL'));
      await home.waitFor('the renamer to start', () => renamer.stdout().includes('renames'));
      for (let time = 0; time < 15; time += 1)
        for (const command of ['reload', 'flush', 'restart', 'logs', 'describe'])
          await run(command, 'app', ...(command === 'logs' ? ['--nostream'] : []));
      renamer.child.kill('SIGTERM');
      const { stdout } = await renamer.done;
      expect(Number(stdout.split('\n')[1])).toBeGreaterThanOrEqual(ROUNDS);
      expectUntouched();
      await run('delete', 'app');
      expectUntouched();
    },
  );
});

/**
 * Tries again, because the manager keeps running. Between the two renames it may create the path
 * again, or create files in the folder that this function removes.
 */
function replace(path, planted) {
  while (lstatSync(planted, { throwIfNoEntry: false })) {
    try {
      if (lstatSync(path, { throwIfNoEntry: false })) renameSync(path, `${path}.before`);
      rmSync(`${path}.before`, { recursive: true, force: true, maxRetries: 5 });
      renameSync(planted, path);
    } catch (error) {
      if (!['EISDIR', 'ENOENT', 'ENOTDIR', 'ENOTEMPTY'].includes(codeOf(error))) throw error;
    }
  }
}

const codeOf = (error) => error.code ?? '';
