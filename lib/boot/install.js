import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { NclustError } from '../shared/errors.js';
import { assertPlain, explainCode, removeAsUser } from '../shared/host/as-user.js';
import { runAsOwner } from '../shared/host/run-as-owner.js';

/** @import { Owner } from '../shared/host/run-as-owner.js' */
/** @import { PlannedFile } from './service-plan.js' */

/** Time limit for a command, in ms. With systemd, the start of a service waits for all apps. */
const COMMAND_MS = 15 * 60_000;

/**
 * @param {PlannedFile[]} files
 * @param {Owner} owner
 */
export function writeFiles(files, owner) {
  for (const file of files) change(file, owner, 'written', () => write(file));
}

/**
 * @param {Pick<PlannedFile, 'path' | 'isOwners'>[]} files
 * @param {Owner} owner
 */
export function removeFiles(files, owner) {
  for (const file of files) change(file, owner, 'removed', () => removeAsUser(null, file.path));
}

/**
 * @param {Pick<PlannedFile, 'path' | 'isOwners'>} file
 * @param {Owner} owner
 * @param {string} done  For the error.
 * @param {() => void} work
 */
function change({ path, isOwners }, owner, done, work) {
  try {
    if (isOwners) runAsOwner(owner, work);
    else work();
  } catch (error) {
    throw failed(`"${path}" could not be ${done} (${explainCode(error)})`, error);
  }
}

/**
 * @param {string[][]} commands
 * @param {{ env: Record<string, string | undefined>, mayFail?: boolean }} o
 */
export function runCommands(commands, { env, mayFail = false }) {
  for (const [program, ...args] of commands) {
    try {
      execFileSync(program, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: COMMAND_MS });
    } catch (error) {
      const { stderr } = /** @type {{ stderr?: string }} */ (error);
      if (!mayFail)
        throw failed(
          `"${[program, ...args].join(' ')}" failed: ${stderr?.trim() || /** @type {Error} */ (error).message}`,
          error,
        );
    }
  }
}

/**
 * Throws if the user of the service cannot read its program. Otherwise the service would fail only
 * at the next boot.
 * @param {string} node
 * @param {string} main
 * @param {Owner & { user: string }} owner
 */
export function checkReach(node, main, owner) {
  runAsOwner(owner, () => {
    for (const path of [node, main]) {
      try {
        closeSync(openSync(path, 'r')); // access(2) checks the user who started this process.
      } catch (error) {
        throw failed(
          `"${owner.user}" may not use "${path}" (${explainCode(error)})`,
          error,
          `Install Node.js and nclust in a folder that "${owner.user}" can read, and run the command from there.`,
        );
      }
    }
  });
}

/** @param {PlannedFile} file */
function write({ path, text, mode, isOwners }) {
  mkdirSync(dirname(path), { recursive: true, mode: isOwners ? 0o700 : 0o755 });
  assertPlain(path); // systemd links a masked unit to /dev/null.
  const draft = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(draft, text, { mode, flag: 'wx' });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * @param {string} what
 * @param {unknown} cause
 * @param {string | null} [hint]
 */
function failed(what, cause, hint = null) {
  return new NclustError('ERR_NCLUST_STARTUP', `${what}.`, { hint, cause });
}
