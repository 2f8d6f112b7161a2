import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { nodeUnderTest } from '../helpers/sandbox.js';
import { waitFor } from '../helpers/wait-for.js';

const LATER = fileURLToPath(new URL('../../daemon/agent/later.cjs', import.meta.url));

/** An app of which keeper and control are gone: it begins a stand-in, writes, opens files and ends the stand-in as it is told. */
const ORPHAN = `
  const fs = require('node:fs');
  const { later } = require(${JSON.stringify(LATER)});
  const end = later('./log-stand-in.cjs').startStandIn(JSON.parse(process.argv[1]));
  const acts = {
    write: (text) => fs.writeSync(1, text),
    open: (count) => { acts.opened = Array.from({ length: count }, () => fs.openSync('/dev/null')); },
    end: () => end(),
    lost: () => acts.opened.filter((fd) => { try { return !fs.fstatSync(fd).isCharacterDevice(); } catch { return true; } }),
  };
  process.on('message', ([act, what]) => process.send({ answer: acts[act](what) ?? null }));
`;

async function orphan() {
  const home = mkdtempSync(join(tmpdir(), 'nclust-test-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const pipe = join(home, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const fd = openSync(pipe, constants.O_RDWR);
  const logFiles = { out: join(home, 'out.log'), err: join(home, 'err.log') };
  const script = ['-e', ORPHAN, JSON.stringify({ logFiles, home })];
  const app = fork(script[0], { execPath: nodeUnderTest(), execArgv: script, stdio: ['ignore', fd, fd, 'ipc'] });
  closeSync(fd);
  onTestFinished(async () => {
    app.kill('SIGKILL');
    if (app.exitCode === null && app.signalCode === null) await once(app, 'exit');
  });
  const say = async (/** @type {string} */ act, /** @type {unknown} */ what) => {
    const answered = once(app, 'message');
    app.send([act, what]);
    return (await answered)[0].answer;
  };
  const threads = () => readdirSync(`/proc/${app.pid}/task`).length;
  const filesOpen = () => readdirSync(`/proc/${app.pid}/fd`).map((one) => { try { return readlinkSync(`/proc/${app.pid}/fd/${one}`); } catch { return ''; } });
  return { home, pipe, logFiles, say, threads, filesOpen };
}

test.runIf(process.platform === 'linux')('what the app opens while its stand-in ends is left alone, although it has the numbers of what the stand-in had closed', async () => {
  const { home, pipe, logFiles, say, threads, filesOpen } = await orphan();
  const copies = () => filesOpen().filter((one) => one === pipe).length;
  const files = () => filesOpen().filter((one) => one === logFiles.out || one === logFiles.err).length;

  await say('write', 'last words\n');
  await waitFor('the stand-in to write the log', () => existsSync(logFiles.out) && readFileSync(logFiles.out, 'utf8') === 'last words\n');
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
