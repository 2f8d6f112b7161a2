import { resolve } from 'node:path';
import { isWayTrusted, readUser, statAsUser } from '../../../lib/shared/host/as-user.js';
import { runAsUser } from '../../../lib/shared/host/run-as-user.js';
import { readDeclaredLayers, flatten } from '../../../lib/app-spec/layers.js';
import { readWhole } from '../host/read-bounded.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { Clock } from '../host/clock.js' */

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
 * Unless it is there already, the shell enters the folder as the user of the app. Then it writes a
 * line end.
 */
const IN_FOLDER = '{ [ "$1" = . ] || cd -- "$1"; } && echo && unset OLDPWD && exec /bin/sh -c "$2"';
const ENTERED = Buffer.from('\n');

/**
 * Runs the command as the user of the app, with the declared environment of the app and BASICS.
 * @param {string} command
 * @param {AppSpec} spec
 * @param {Clock} clock
 * @returns {Promise<Buffer>}
 */
async function ofCommand(command, spec, clock) {
  const isThere = isWayTrusted(readUser(spec), spec.cwd) && folderFault(spec) === null;
  const args = ['-c', IN_FOLDER, 'sh', isThere ? '.' : spec.cwd, command];
  // stderr is ignored, because it may contain a part of the secret.
  const { code, signal, exceeded, output } = await runAsUser(spec, '/bin/sh', args, {
    cwd: isThere ? spec.cwd : '/',
    env: commandEnv(spec),
    timeoutMs: COMMAND_MS,
    maxBytes: SECRET_MAX_BYTES + ENTERED.length,
    after: clock.after,
  }).catch((/** @type {NodeJS.ErrnoException} */ error) => {
    throw failed(`could not be run (${error.code ?? 'unknown'})`);
  });
  if (exceeded === 'time') throw failed(`did not exit within ${COMMAND_MS / 1000}s`);
  if (exceeded === 'bytes') throw failed(`wrote more than ${SECRET_MAX_BYTES / 1024} KiB`);
  if (signal !== null) throw failed(`was killed by ${signal}`);
  if (output.length === 0) throw notEntered(spec);
  if (code !== 0) throw failed(`exited with code ${code}`);
  return output.subarray(ENTERED.length);
}

/** @param {string} fault */
function failed(fault) {
  return new NoSecret(`is not available: its command ${fault}`);
}

const FOLDER_FAULTS = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory',
  EACCES: 'cannot be entered by the user of the app',
};

/** @param {AppSpec} spec */
function notEntered(spec) {
  const code = folderFault(spec) ?? 'EACCES';
  return failed(`could not be run (${code}), because the working directory "${spec.cwd}" ${FOLDER_FAULTS[code]}`);
}

/** @param {AppSpec} spec */
function folderFault(spec) {
  try {
    const stat = statAsUser(readUser(spec), spec.cwd);
    return stat === null ? 'ENOENT' : stat.isDirectory() ? null : 'ENOTDIR';
  } catch {
    return 'EACCES';
  }
}

/** @param {AppSpec} spec */
function commandEnv(spec) {
  const layers = readDeclaredLayers(spec);
  const all = flatten(layers);
  const basics = Object.fromEntries(BASICS.flatMap((key) => (all[key] === undefined ? [] : [[key, all[key]]])));
  return { ...basics, ...flatten(layers.filter(({ origin }) => origin === 'file' || origin === 'env')) };
}
