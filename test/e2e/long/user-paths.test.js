// Links, devices, pipes, sockets and folders that a user names stay what they are. nclust changes
// only regular files of the app.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isRoot, NOBODY } from '../../helpers/other-user.js';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const NCLUST = fileURLToPath(new URL('../../../bin/nclust.js', import.meta.url));
const MAX_BYTES = 20_000;

/** Writes more than two files on both streams, and then the file "done". */
const FLOOD = `
  const line = 'x'.repeat(200) + '\\n';
  let left = 300;
  const next = () => {
    if (left-- === 0) return require('node:fs').writeFileSync(process.env.DONE, String(process.pid));
    process.stderr.write(line);
    process.stdout.write(line, () => setImmediate(next));
  };
  next();
  setInterval(() => {}, 1e6);`;

/** `leadsTo`: the file of the app. @type {Record<string, (path: string) => { leadsTo?: string } | void>} */
const KINDS = {
  nothing: (path) => ({ leadsTo: path }),
  'a file': (path) => {
    writeFileSync(path, '');
    return { leadsTo: path };
  },
  'a link to a file': (path) => {
    const leadsTo = linkTo(path, `${path}.d/target.log`);
    writeFileSync(leadsTo, '');
    return { leadsTo };
  },
  'a link to nothing': (path) => ({ leadsTo: linkTo(path, `${path}.d/target.log`) }),
  'a link to a link': (path) => {
    const leadsTo = linkTo(`${path}.second`, `${path}.d/target.log`);
    symlinkSync(`${path}.second`, path);
    return { leadsTo };
  },
  'a link to the output of a process': (path) => symlinkSync('/proc/self/fd/1', path),
  'a link to a file of another process': (path) => symlinkSync(`/proc/${process.pid}/fd/1`, path),
  'a link to a pipe': (path) => void execFileSync('mkfifo', [linkTo(path, `${path}.d/target`)]),
  'a link to a folder': (path) => void linkTo(path, `${path}.d`),
  'a link to itself': (path) => symlinkSync(path, path),
  'a pipe': (path) => void execFileSync('mkfifo', [path]),
  'a socket': (path) => {
    const server = createServer().listen(path);
    onTestFinished(() => void server.close());
  },
  'a folder': (path) => mkdirSync(path),
  ...(isRoot
    ? {
        'a device': (path) => void makeDevice(path),
        'a link to a device': (path) => void makeDevice(linkTo(path, `${path}.d/target`)),
      }
    : {}),
};

function linkTo(path, target) {
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(target, path);
  return target;
}

/** Like /dev/null. */
function makeDevice(path) {
  execFileSync('mknod', ['-m', '666', path, 'c', '1', '3']);
}

const OPTIONS = { out_file: 'out', error_file: 'err', log_file: 'both', pid_file: 'pid' };

/** Everything in the folder that is not a regular file. */
function irregular(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => [String(name), lstatSync(join(folder, String(name)))])
    .filter(([, stat]) => !stat.isFile())
    .map(([name, { ino, mode, uid, gid }]) => {
      const link = (mode & 0o170000) === 0o120000 ? readlinkSync(join(folder, name)) : '';
      return [name, ino, mode.toString(8), uid, gid, link].join(' ');
    })
    .sort();
}

const rotatedBeside = (path) => readdirSync(dirname(path)).filter((name) => /__\d{4}-.*Z/.test(name));

describe.each([['the user of the test', {}], ...(isRoot ? [['another user than root', NOBODY]] : [])])(
  'as %s',
  (_who, user) => {
    test('only regular files of the apps change, from start to delete', async () => {
      const home = await sandbox();
      const nclust = async (...words) => {
        const result = await home.nclust(...words, user);
        expect(result, result.stderr).toMatchObject({ exitStatus: 0 });
        return result;
      };
      const apps = Object.entries(KINDS).map(([kind, make], at) => {
        const folder = join(home.work, `${at}`);
        mkdirSync(folder);
        writeFileSync(join(folder, 'app.js'), FLOOD);
        const places = Object.entries(OPTIONS).map(([option, name]) => {
          const given = join(folder, `${name}.d`, `${name}.log`);
          const path = option === 'pid_file' ? given.replace('.log', `-${at}.log`) : given;
          mkdirSync(dirname(path));
          return { option, given, path, leadsTo: make(path)?.leadsTo };
        });
        const paths = Object.fromEntries(places.map(({ option, given }) => [option, given]));
        const env = { DONE: join(folder, 'done') };
        return { kind, folder, places, entry: { name: `app${at}`, script: 'app.js', cwd: folder, env, ...paths } };
      });
      writeFileSync(
        join(home.work, 'apps.json'),
        JSON.stringify({
          apps: apps.map(({ entry }) => ({ ...entry, log_max_size: MAX_BYTES, log_compress: 'none' })),
        }),
      );
      if (user.uid) {
        chmodSync(dirname(home.work), 0o755);
        chownSync(dirname(home.work), user.uid, user.gid);
        execFileSync('chown', ['-hR', `${user.uid}:${user.gid}`, home.work]);
      }
      const before = irregular(home.work);
      const logs = () =>
        apps
          .flatMap(({ kind, places }) => places.map((place) => ({ kind, ...place })))
          .filter(({ option }) => option !== 'pid_file');
      const flooded = () =>
        home.waitFor('every app to have written', () =>
          apps.every(({ folder }) => readdirSync(folder).includes('done')),
        );

      await nclust('start', 'apps.json');
      await flooded();
      for (const { kind, option, leadsTo } of logs())
        if (leadsTo) await home.waitFor(`rotation of ${option}, ${kind}`, () => rotatedBeside(leadsTo).length > 0);
      expect(irregular(home.work)).toEqual(before);
      const { stdout } = await nclust('jlist');
      for (const { name, pid, pm2_env } of JSON.parse(stdout)) {
        expect([name, pm2_env.status]).toEqual([name, 'online']);
        const { leadsTo } = apps
          .find(({ entry }) => entry.name === name)
          .places.find(({ option }) => option === 'pid_file');
        if (leadsTo) expect([name, readFileSync(leadsTo, 'utf8')]).toEqual([name, `${pid}\n`]);
      }

      await nclust('flush');
      for (const { leadsTo } of logs())
        if (leadsTo) expect([rotatedBeside(leadsTo), statSync(leadsTo).size]).toEqual([[], 0]);
      expect(irregular(home.work)).toEqual(before);

      await nclust('reloadLogs');
      await nclust('save');
      for (const { folder } of apps) execFileSync('rm', [join(folder, 'done')]);
      await nclust('reload', 'all');
      await flooded();
      for (const { kind, option, leadsTo } of logs())
        if (leadsTo) await home.waitFor(`rotation of ${option}, ${kind}`, () => rotatedBeside(leadsTo).length > 0);
      await nclust('delete', 'all');
      await nclust('kill');
      expect(irregular(home.work)).toEqual(before);
    }, 120_000);
  },
);

test.runIf(isRoot)('the log and the pid file of an app with another user may be links of this user', async () => {
  const home = await sandbox();
  for (const folder of [dirname(home.work), home.work]) chmodSync(folder, 0o755);
  const own = join(home.work, 'own');
  mkdirSync(join(own, 'target'), { recursive: true });
  writeFileSync(join(own, 'app.js'), FLOOD);
  symlinkSync('target/out.log', join(own, 'out.log'));
  symlinkSync('target/app.pid', join(own, 'app-0.pid'));
  execFileSync('chown', ['-hR', `${NOBODY.uid}:${NOBODY.gid}`, own]);
  const flags = ['-o', 'out.log', '--pid', 'app.pid', '--log-max-size', '20K', '--cwd', own, '--uid', 'nobody'];
  const env = { DONE: join(own, 'done') };
  expect(await home.nclust('start', join(own, 'app.js'), ...flags, { env })).toMatchObject({ exitStatus: 0 });
  await home.waitFor('the rotated files', () => rotatedBeside(join(own, 'target/out.log')).length > 0);
  for (const name of rotatedBeside(join(own, 'target/out.log')))
    expect(statSync(join(own, 'target', name))).toMatchObject(NOBODY);
  const [{ pid }] = await home.list();
  expect(readFileSync(join(own, 'target/app.pid'), 'utf8')).toBe(`${pid}\n`);
  expect(await home.nclust('delete', 'all')).toMatchObject({ exitStatus: 0 });
  expect(readdirSync(own).sort()).toEqual(['app-0.pid', 'app.js', 'done', 'out.log', 'target']);
  expect(['out.log', 'app-0.pid'].map((name) => readlinkSync(join(own, name)))).toEqual([
    'target/out.log',
    'target/app.pid',
  ]);
});

test('reloadLogs follows a link that leads to another file now', async () => {
  const home = await sandbox();
  const link = join(home.work, 'out.log');
  symlinkSync('one.log', link);
  const app = await home.app('http-echo', { flags: ['-o', link] });
  await home.waitFor('a line', () => readFileSync(join(home.work, 'one.log'), 'utf8').includes('listens'));
  execFileSync('ln', ['-sfn', 'two.log', link]);
  expect(await home.nclust('reloadLogs')).toMatchObject({ exitStatus: 0 });
  await home.nclust('restart', app.name);
  await home.waitFor('a line', () => readFileSync(join(home.work, 'two.log'), { encoding: 'utf8', flag: 'a+' }) !== '');
  expect(readlinkSync(link)).toBe('two.log');
});

test('a link at the saved list stays, and a log that leads to a file of the manager is refused', async () => {
  const home = await sandbox();
  mkdirSync(home.home, { mode: 0o700 });
  symlinkSync(join(home.work, 'list.json'), join(home.home, 'dump.json'));
  await home.app('http-echo');
  expect(await home.nclust('save')).toMatchObject({ exitStatus: 0 });
  expect(readlinkSync(join(home.home, 'dump.json'))).toBe(join(home.work, 'list.json'));
  expect(JSON.parse(readFileSync(join(home.work, 'list.json'), 'utf8')).apps).toHaveLength(1);
  symlinkSync(join(home.home, 'state.json'), join(home.work, 'out.log'));
  expect(await home.nclust('start', home.place('http-echo', 'two.js'), '-o', 'out.log')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('which is a file of the manager'),
  });
});

test.each(['out.log', 'pipe'])('a profile is not written over %s', async (name) => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  if (name === 'pipe') execFileSync('mkfifo', [join(home.work, name)]);
  else symlinkSync('nowhere', join(home.work, name));
  const before = irregular(home.work);
  expect(await home.nclust('profile', app.name, '--cpu', '1s', '-o', name)).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('already exists'),
  });
  expect(irregular(home.work)).toEqual(before);
});

/** A command in its own mount namespace, where the shell code has run first. */
const OWN_MOUNTS = ['--mount', '--propagation', 'private'];
const hasMounts = isRoot && spawnSync('unshare', [...OWN_MOUNTS, 'true']).status === 0;

/** Never the /dev of the machine. */
const OWN_DEV = `
  mkdir dev && ln -s /proc/self/fd dev/fd && ln -s /proc/self/fd/1 dev/stdout && ln -s /proc/self/fd/2 dev/stderr
  for one in null zero urandom random; do touch dev/$one && mount --bind /dev/$one dev/$one; done
  mkdir dev/shm && mount --bind dev /dev`;

function withMounts(home, code, ...words) {
  const command = ['sh', '-euc', `${code}\nexec "$@"`, 'sh', nodeUnderTest(), NCLUST, ...words];
  return runProgram('unshare', [...OWN_MOUNTS, ...command], {
    env: { ...home.env, DONE: join(home.work, 'done') },
    cwd: home.work,
  }).done;
}

const textOf = (path) => readFileSync(path, { encoding: 'utf8', flag: 'a+' });

describe.runIf(hasMounts)('in a container', () => {
  test('a log file that is a mount point stays, and the list reports that it cannot be rotated', async () => {
    const home = await sandbox();
    writeFileSync(join(home.work, 'app.js'), FLOOD);
    for (const name of ['outside.log', 'out.log']) writeFileSync(join(home.work, name), '');
    const words = ['start', 'app.js', '-o', 'out.log', '--log-max-size', '20K'];
    const started = await withMounts(home, 'mount --bind outside.log out.log', ...words);
    expect(started).toMatchObject({ exitStatus: 0 });
    await home.waitFor('the output', () => textOf(join(home.work, 'outside.log')).length === 300 * 201);
    expect((await home.nclust('list')).stderr).toContain('cannot be rotated (EBUSY)');
    expect(rotatedBeside(join(home.work, 'out.log'))).toEqual([]);
    const { keeperPid } = await home.daemon();
    expect(readFileSync(`/proc/${keeperPid}/mountinfo`, 'utf8')).toContain(join(home.work, 'out.log'));
  });

  test.each(['/dev/stdout', '/proc/self/fd/2', 'link.log'])(
    'lines for %s of a daemon go to the default log file, with a notice',
    async (path) => {
      const home = await sandbox();
      writeFileSync(join(home.work, 'app.js'), FLOOD);
      symlinkSync('/dev/stdout', join(home.work, 'link.log'));
      const flags = ['-o', path, '-e', path, '-l', path, '--log-max-size', '20K'];
      const started = await withMounts(home, OWN_DEV, 'start', 'app.js', ...flags);
      expect(started).toMatchObject({
        exitStatus: 0,
        stderr: expect.stringContaining('because only "nclust run" has'),
      });
      const logs = join(home.home, 'logs');
      await home.waitFor('the rotated files', () => rotatedBeside(join(logs, 'app-out.log')).length > 2);
      await home.waitFor('the end of the flood', () => textOf(join(home.work, 'done')) !== '');
      expect(await home.nclust('flush')).toMatchObject({ exitStatus: 0 });
      expect(await home.nclust('reloadLogs')).toMatchObject({ exitStatus: 0 });
      expect(['fd', 'stdout', 'stderr'].map((name) => readlinkSync(join(home.work, 'dev', name)))).toEqual([
        '/proc/self/fd',
        '/proc/self/fd/1',
        '/proc/self/fd/2',
      ]);
      expect(textOf(join(home.home, 'nclust.log'))).not.toContain('xxx');
      const back = await home.nclust('reload', 'app', '-o', 'default', '-e', 'default', '-l', 'none');
      expect(back).toMatchObject({ exitStatus: 0, stderr: expect.not.stringContaining('only "nclust run"') });
    },
  );

  test.each([
    [['-o', '/dev/stdout', '-e', '/dev/stderr'], 300, 300],
    [['-o', '/dev/stdout', '-e', '/dev/stdout'], 600, 0],
    [['-o', '/proc/self/fd/2', '-e', '/dev/fd/2', '-l', '/dev/stdout'], 0, 600],
    [['-o', 'link.log', '-e', 'none'], 300, 300],
  ])('run with %j writes its own output', async (flags, out, err) => {
    const home = await sandbox();
    writeFileSync(join(home.work, 'app.js'), `${FLOOD.replace('setInterval(() => {}, 1e6);', '')}`);
    symlinkSync('/dev/stdout', join(home.work, 'link.log'));
    const words = ['run', 'app.js', '--no-autorestart', '--log-max-size', '20K', ...flags];
    const { exitStatus, stdout, stderr } = await withMounts(home, OWN_DEV, ...words);
    const count = (text) => text.split('\n').filter((line) => line.startsWith('xxx')).length;
    expect([exitStatus, count(stdout), count(stderr)]).toEqual([0, out, err]);
    expect(readlinkSync(join(home.work, 'dev/stdout'))).toBe('/proc/self/fd/1');
  });
});
