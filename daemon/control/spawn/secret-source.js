import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { runWithDefaultOomScore } from '../../../lib/shared/daemon/oom-score.js';
import { readUser } from '../../../lib/shared/host/as-user.js';
import { readDeclaredLayers, flatten } from '../../../lib/shared/spec/environment.js';
import { readWhole } from '../host/read-bounded.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Cancel, Clock } from '../host/clock.js' */

/** A value longer than this is not a secret (and Linux limits a variable to 128 KiB). */
const SECRET_MAX_BYTES = 64 * 1024;

const COMMAND_MS = 10_000;

/** Variables that a program needs to find other programs, its home and its language. */
const BASICS = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ'];

/** The message follows the name of the secret. It never contains a part of the secret. */
export class NoSecret extends Error {
  /** @type {string | null} */
  hint = null;
}

/**
 * @param {AppSpec} spec
 * @param {string} name
 * @param {Clock} clock
 * @returns {Promise<string>}  Without the line end after the secret. Rejects with a NoSecret.
 */
export async function readSecret(spec, name, clock) {
  const source = spec.secrets[name];
  const bytes =
    'file' in source
      ? await ofFile(resolve(spec.cwd, source.file), readUser(spec), clock)
      : await ofCommand(source.command, spec, clock);
  if (bytes.includes(0)) throw new NoSecret('contains a NUL, which a variable cannot');
  return bytes.toString('utf8').replace(/\r?\n$/, '');
}

/**
 * @param {string} file
 * @param {User | null} user
 * @param {Clock} clock
 */
async function ofFile(file, user, clock) {
  const found = await readWhole(file, { maxBytes: SECRET_MAX_BYTES, clock, user });
  if (found.bytes !== null) return found.bytes;
  const message = `is not available: its file "${file}" ${found.fault}`;
  throw Object.assign(new NoSecret(message), { hint: found.hint });
}

/**
 * Runs the command as the user of the app, with the declared environment of the app and BASICS.
 * @param {string} command
 * @param {AppSpec} spec
 * @param {Clock} clock
 * @returns {Promise<Buffer>}
 */
function ofCommand(command, spec, clock) {
  return new Promise((done, failed) => {
    const child = startCommand(command, spec);
    /** @type {Buffer[]} */
    const chunks = [];
    let length = 0;
    /** @type {string | null} */
    let fault = null;
    const giveUp = (/** @type {string} */ why) => {
      fault ??= why;
      cancel();
      if (child.pid !== undefined) endGroup(child.pid);
      child.stdout?.destroy(); // A process that has left the group may keep the pipe open.
      failed(new NoSecret(`is not available: its command ${fault}`));
    };
    /** @type {Cancel} */
    const cancel = clock.after(COMMAND_MS, () => giveUp(`did not exit within ${COMMAND_MS / 1000}s`));
    child.on('error', (error) => {
      cancel();
      failed(notRun(error));
    });
    child.on('close', (code, signal) => {
      cancel();
      fault ??= signal ? `was killed by ${signal}` : code === 0 ? null : `exited with code ${code}`;
      if (fault === null) done(Buffer.concat(chunks));
      else failed(new NoSecret(`is not available: its command ${fault}`));
    });
    // If descriptors ran out, there is no pipe; the 'error' event reports that.
    child.stdout?.on('data', (/** @type {Buffer} */ chunk) => {
      length += chunk.length;
      if (length > SECRET_MAX_BYTES) giveUp(`wrote more than ${SECRET_MAX_BYTES / 1024} KiB`);
      else chunks.push(chunk);
    });
  });
}

/**
 * @param {string} command
 * @param {AppSpec} spec
 */
function startCommand(command, spec) {
  const { cwd, uid, gid } = spec;
  try {
    // stderr is ignored, because it may contain a part of the secret.
    return runWithDefaultOomScore(() =>
      spawn('/bin/sh', ['-c', command], {
        cwd,
        env: commandEnv(spec),
        uid: uid ?? undefined,
        gid: gid ?? undefined,
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      }),
    );
  } catch (error) {
    throw notRun(error);
  }
}

/** @param {unknown} error */
function notRun(error) {
  return new NoSecret(
    `is not available: its command could not be run ` +
      `(${/** @type {NodeJS.ErrnoException} */ (error).code ?? 'unknown'})`,
  );
}

/** @param {AppSpec} spec */
function commandEnv(spec) {
  const layers = readDeclaredLayers(spec);
  const all = flatten(layers);
  const basics = Object.fromEntries(BASICS.flatMap((key) => (all[key] === undefined ? [] : [[key, all[key]]])));
  return { ...basics, ...flatten(layers.filter(({ origin }) => origin === 'file' || origin === 'env')) };
}

/** @param {number} pid */
function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The command has exited, or runs as another user (sudo). We do not read its output any more.
    if (!['ESRCH', 'EPERM'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  }
}
