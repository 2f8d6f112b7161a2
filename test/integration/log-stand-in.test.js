import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openCopy } from '../helpers/keeper.js';
import { nodeUnderTest } from '../helpers/sandbox.js';
import { waitFor, within } from '../helpers/wait-for.js';

const AGENT = fileURLToPath(new URL('../../daemon/agent/', import.meta.url));

/** The value in daemon/agent/log-fallback.cjs. */
const LOOK_EVERY_MS = 200;
const isLinux = process.platform === 'linux';
const OTHER = 65_534;
/** More lines than the pipe holds, so that the fallback has to read the pipe. */
const MANY = 1_000;
const FILES_MAX = 64;
const LIMITED = `ulimit -n ${FILES_MAX}; exec "$@"`;

/**
 * An app whose keeper and control are gone. It writes and opens files when the test asks for it.
 */
const orphanCode = (agent) => `
  const fs = require('node:fs');
  const { requireOnDemand } = require(${JSON.stringify(join(agent, 'loader.cjs'))});
  const { startLogFallback } = requireOnDemand('./log-fallback.cjs');
  let end;
  const files = [];
  const acts = {
    begin: () => { end = startLogFallback(JSON.parse(process.argv[1])); },
    write: (text) => process.stdout.write(text),
    fill: () => { try { for (;;) files.push(fs.openSync('/dev/null')); } catch (error) { return error.code; } },
    free: (count) => { for (const fd of files.splice(0, count ?? files.length)) fs.closeSync(fd); },
    open: (count) => { acts.opened = Array.from({ length: count }, () => fs.openSync('/dev/null')); },
    end: () => end(),
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    lost: () => acts.opened.filter((fd) => {
      try { return !fs.fstatSync(fd).isCharacterDevice(); } catch { return true; }
    }),
  };
  process.on('message', async ([act, what]) => process.send({ answer: await acts[act](what) ?? null }));
`;

async function orphan({ isLimited = false, out = (home) => join(home, 'out.log'), uid } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'nclust-test-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [pipe, errPipe] = [join(home, 'out'), join(home, 'err')];
  execFileSync('mkfifo', [pipe, errPipe]);
  if (uid !== undefined) for (const path of [pipe, errPipe]) chownSync(path, uid, uid);
  const fds = [pipe, errPipe].map((path) => openSync(path, constants.O_RDWR));
  const logFiles = { out: out(home), err: join(home, 'err.log') };
  const agent = uid === undefined ? AGENT : join(openCopy(), 'daemon/agent');
  const preload = ['--require', join(agent, 'agent.cjs')];
  const words = [nodeUnderTest(), ...preload, '-e', orphanCode(agent), JSON.stringify({ logFiles, home })];
  const [file, ...args] = isLimited ? ['/bin/sh', '-c', LIMITED, 'sh', ...words] : words;
  // The app needs the agent, because the agent puts the pipes in blocking mode.
  const env = { ...process.env, NCLUST_HOME: home, NCLUST_AGENT: JSON.stringify({ metrics: false }) };
  const app = spawn(file, args, { uid, stdio: ['ignore', ...fds, 'ipc'], env });
  fds.forEach((fd) => closeSync(fd));
  onTestFinished(async () => {
    app.kill('SIGKILL');
    if (app.exitCode === null && app.signalCode === null) await once(app, 'exit');
  });
  const say = async (act, what) => {
    const answered = once(app, 'message');
    app.send([act, what]);
    return (await within(act, answered, 10_000))[0].answer;
  };
  const threads = () => readdirSync(`/proc/${app.pid}/task`).length;
  const filesOpen = () =>
    readdirSync(`/proc/${app.pid}/fd`).map((one) => {
      try {
        return readlinkSync(`/proc/${app.pid}/fd/${one}`);
      } catch {
        return '';
      }
    });
  const logged = () => (existsSync(logFiles.out) ? readFileSync(logFiles.out, 'utf8') : '');
  return { home, pipe, logFiles, logged, say, threads, filesOpen };
}

test.runIf(isLinux)('an ending stand-in does not close files of the app that reuse its descriptors', async () => {
  const { home, pipe, logFiles, logged, say, threads, filesOpen } = await orphan();
  await say('begin');
  const copies = () => filesOpen().filter((one) => one === pipe).length;
  const files = () => filesOpen().filter((one) => one === logFiles.out || one === logFiles.err).length;

  await say('write', 'last words\n');
  await waitFor('the stand-in to write the log', () => logged() === 'last words\n');
  const [threadsBefore, copiesBefore] = [threads(), copies()];
  const control = net.createServer((socket) => socket.resume());
  control.listen(join(home, 'nclust.sock'));
  onTestFinished(() => void control.close());
  await waitFor('the stand-in to rest', () => copies() < copiesBefore);
  await waitFor('its log files to be closed', () => files() === 0);

  await say('open', 20);
  await say('end');
  await waitFor('the thread to end', () => threads() < threadsBefore);
  expect(await say('lost')).toEqual([]);
});

test.runIf(isLinux)('a stand-in without free descriptors starts as soon as the app closes files', async () => {
  const { logged, say, threads } = await orphan({ isLimited: true });
  expect(await say('fill')).toBe('EMFILE');
  const threadsBefore = threads();
  await say('begin');
  await say('write', 'in between\n');
  await waitFor('the stand-in to fail', () => threads() === threadsBefore);
  await say('free');
  await waitFor('the line in the log', () => logged() === 'in between\n');
  for (let line = 0; line < MANY; line += 1) await say('write', `${'x'.repeat(199)}\n`);
  await waitFor('all lines in the log', () => logged().length === 'in between\n'.length + 200 * MANY);
});

test.runIf(isLinux)('a stand-in that is no longer wanted does not start', async () => {
  const { say, logged } = await orphan({ isLimited: true });
  expect(await say('fill')).toBe('EMFILE');
  await say('begin');
  await say('end');
  await say('free');
  await say('write', 'for whoever comes\n');
  await say('pass', 3 * LOOK_EVERY_MS);
  expect(logged()).toBe('');
  await say('begin');
  await waitFor('the line in the log', () => logged() === 'for whoever comes\n');
});

test.runIf(isLinux)('a stand-in at the limit of open files reads as soon as descriptors are free', async () => {
  const { pipe, logged, say, threads, filesOpen } = await orphan({ isLimited: true });
  await say('fill');
  const threadsBefore = threads();
  await say('begin');
  // Frees one descriptor after the other, because the number that a thread needs depends on
  // the version of Node.js.
  await waitFor('the thread to start', async () => threads() > threadsBefore || (await say('free', 1), false));
  await say('write', 'last words\n');
  await say('free');
  await waitFor('the pipe to be read', () => filesOpen().filter((one) => one === pipe).length === 2);
  await waitFor('the line in the log', () => logged() === 'last words\n');
});

test.runIf(isLinux)(
  'an app whose log cannot be opened writes on, and later lines are in the log once it can be opened',
  async () => {
    const { home, logFiles, say, logged } = await orphan({ out: (folder) => join(folder, 'taken', 'out.log') });
    writeFileSync(join(home, 'taken'), 'a file where the folder was');
    await say('begin');
    for (let line = 0; line < MANY; line += 1) await say('write', `${'x'.repeat(199)}\n`);
    rmSync(join(home, 'taken'));
    await waitFor('the line in the log', async () => {
      await say('write', 'again\n');
      // Searches in the whole log, because earlier contents of the pipe may come before this line.
      return existsSync(logFiles.out) && logged().includes('again\n');
    });
  },
);

test.runIf(isLinux && process.getuid?.() === 0)(
  'a stand-in of a user who cannot look for control leaves the lines to control',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nclust-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    chownSync(folder, OTHER, OTHER);
    const { home, pipe, say, logged } = await orphan({ uid: OTHER, out: () => join(folder, 'out.log') });
    const control = net.createServer((socket) => socket.resume()).listen(join(home, 'nclust.sock'));
    onTestFinished(() => void control.close());
    await say('begin');
    await say('write', 'for control\n');
    await say('pass', 3 * LOOK_EVERY_MS);
    expect(logged()).toBe('');
    const fd = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(fd));
    const bytes = Buffer.alloc(64);
    expect(bytes.toString('utf8', 0, readSync(fd, bytes))).toBe('for control\n');
  },
);
