import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { nodeUnderTest, sandbox } from '../helpers/sandbox.js';

const BIN = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));

/** A shell can have any number. Node.js does not mark a number as high as this close-on-exec. */
const NUMBER = 200;

/**
 * Runs a command as a shell does after `exec 200<secret`.
 * @returns {Promise<string>}  The path of the open file.
 */
async function runWithOpenFile(home, words) {
  const secret = join(home.work, 'secret');
  writeFileSync(secret, 'only for the shell\n');
  const fd = openSync(secret, 'r');
  const stdio = Array.from({ length: NUMBER }, () => 'ignore');
  const child = spawn(nodeUnderTest(), ['--', BIN, ...words], {
    cwd: home.work,
    env: home.env,
    stdio: [...stdio, fd],
  });
  closeSync(fd);
  expect(await once(child, 'exit')).toEqual([0, null]);
  return secret;
}

const openFilesOf = (pid) =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return []; // Closed since the listing.
    }
  });

test('a descriptor of the shell reaches neither the manager that a command starts, nor an app', async () => {
  const home = await sandbox();
  const secret = await runWithOpenFile(home, ['start', home.place('keeps-alive'), '--name', 'api']);
  const running = home.processes();
  expect(running.map(({ role }) => role).sort()).toEqual(['app', 'control', 'keeper']);
  for (const { pid, role } of running) expect([role, openFilesOf(pid).includes(secret)]).toEqual([role, false]);
});

test('a descriptor of the shell does not reach the Node.js of an app whose version a command reads', async () => {
  const home = await sandbox();
  const [node, seen] = [join(home.work, 'node'), join(home.work, 'seen')];
  const list = `[ "$1" = --version ] && ls -l /proc/$$/fd > "${seen}"`;
  writeFileSync(node, `#!/bin/sh\n${list}\nexec "${nodeUnderTest()}" "$@"\n`);
  chmodSync(node, 0o755);
  const secret = await runWithOpenFile(home, ['start', home.place('keeps-alive'), '--interpreter', node]);
  expect(existsSync(seen)).toBe(true);
  expect(readFileSync(seen, 'utf8')).not.toContain(secret);
});
