import { dirname } from 'node:path';
import { readUser } from '../../shared/host/as-user.js';
import { findCheckout, readGitFolder } from '../../shared/host/git-folder.js';
import { runAsUser } from '../../shared/host/run-as-user.js';
import { readProgramVariables } from '../../shared/spec/environment.js';

/** @import { Versioning } from '../../shared/spec/versioning.js' */
/** @import { AppSpec } from '../../shared/spec/spec.js' */

/**
 * Time limit for each git command, in ms. If a command is slower, the fields from this command are
 * null or false.
 */
const GIT_MS = 1_000;
const OUTPUT_MAX_BYTES = 4 * 1024 * 1024;
const COMMENT_MAX = 1_000;

/**
 * Adds the git data that `nclust jlist` shows. Runs git for each checkout and owner, not for each
 * app.
 * @param {AppSpec[]} specs
 * @returns {Promise<AppSpec[]>}  Never rejects.
 */
export async function addVersioning(specs) {
  /** @type {Map<string, Promise<Versioning | null>>} */
  const known = new Map();
  return Promise.all(
    specs.map(async (spec) => {
      const root = spec.vizion ? (findCheckout(dirname(spec.script)) ?? findCheckout(spec.cwd)) : null;
      if (root === null) return { ...spec, versioning: null };
      const key = `${spec.uid} ${spec.gid} ${root}`;
      if (!known.has(key)) known.set(key, versioningOf(root, spec));
      return { ...spec, versioning: (await known.get(key)) ?? null };
    }),
  );
}

/**
 * @param {string} root
 * @param {AppSpec} spec
 * @returns {Promise<Versioning | null>}  The object has the same keys as in PM2. Null:
 *   readGitFolder() found nothing.
 */
async function versioningOf(root, spec) {
  const folder = await readGitFolder(root, readUser(spec));
  if (folder === null) return null;
  const [comment, status] = await Promise.all([
    ask(root, spec, ['log', '-1', '--no-show-signature', '--format=%B']),
    ask(root, spec, ['status', '--porcelain=v2', '--branch', '--untracked-files=no']),
  ]);
  return {
    type: 'git',
    url: folder.url,
    revision: folder.revision,
    comment: comment === null ? null : comment.trimEnd().slice(0, COMMENT_MAX),
    unstaged: status === null ? null : /^[12u] /m.test(status),
    branch: folder.branch,
    remotes: folder.remotes,
    remote: folder.remote,
    branch_exists_on_remote: folder.isOnRemote,
    ahead: /^# branch\.ab \+[1-9]/m.test(status ?? ''),
    next_rev: null,
    prev_rev: null,
    update_time: new Date(folder.updatedAtMs).toISOString(),
    repo_path: root,
  };
}

/**
 * Runs git as the user of the app, because the configuration of a checkout may run programs.
 * @param {string} root
 * @param {AppSpec} spec
 * @param {string[]} args
 * @returns {Promise<string | null>}  Null: git failed, for example because it is missing, is too
 *   slow, or refuses the folder.
 */
async function ask(root, spec, args) {
  const env = { ...readProgramVariables(spec, process.env), GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' };
  const limits = { env, timeoutMs: GIT_MS, maxBytes: OUTPUT_MAX_BYTES };
  return runAsUser(spec, 'git', ['-C', root, '-c', 'core.fsmonitor=false', ...args], limits).then(
    ({ code, exceeded, output }) => (code === 0 && exceeded === null ? output.toString('utf8') : null),
    () => null,
  );
}
