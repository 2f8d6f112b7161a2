import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readProgramVariables } from '../../../lib/app-spec/layers.js';
import { runAsUser } from '../../../lib/shared/host/run-as-user.js';
import { createSerial } from '../../../lib/shared/serial.js';
import { saveIfPossible } from '../state/store.js';

/** @import { AppSpec, Versioning } from '../../../lib/app-spec/types.js' */
/** @import { ManagerLog } from '../context.js' */
/** @import { Change, DesiredApp } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */
/** @import { Store } from '../state/store.js' */

const LIMITS = { timeoutMs: 5_000, maxBytes: 1024 * 1024 };
const COMMENT_MAX = 1_000;
/** The user of the app chooses these texts, and each list of clients contains them. */
const NAME_MAX = 255;
const URL_MAX = 2_000;
const REMOTES_MAX = 64;

/** A reflog has the time of the last checkout, commit or pull. It may be empty after 90 days. */
const QUESTIONS = `
ask() { git -C "$0" -c core.fsmonitor=false "$@"; }
commit() { ask log -1 --no-show-signature --date=format-local:%Y-%m-%dT%H:%M:%S.000Z --format="$@"; }
branch=$(ask rev-parse --abbrev-ref HEAD) || exit
last=$(commit '%gd%n%H%n%B' -g)
printf '%s\\0' "$branch" "\${last:-$(commit '%cd%n%H%n%B')}"
ask config --local --get-regexp '^(remote|branch)[.].*[.](url|remote)$'
printf '\\0'
ask for-each-ref --format='%(refname)' "refs/remotes/*/$branch"
printf '\\0'
ask status --porcelain=v2 --branch --untracked-files=no`;

/**
 * Updates `versioning` of apps that a request starts. No start waits for git: the list may show the
 * revision some milliseconds later than the new process.
 * @template {{
 *   parts: { readVersioning: typeof readVersioning, store: Store, managerLog: ManagerLog },
 *   registry: Registry,
 * }} Context
 * @param {Context} context
 * @returns {(up: Change['up']) => void}
 */
export function createVersioningUpdates(context) {
  const { parts, registry } = context;
  // One read after the other, because many reads from a disk that hangs would occupy the thread
  // pool, and because the result of the last request counts.
  const inTurn = createSerial();

  /** @param {Change['up']} up */
  async function update(up) {
    const least = new Map(up.map(({ id, generation }) => [id, generation]));
    // False after a rollback, or if the app was removed.
    const isStarted = (/** @type {DesiredApp} */ { spec, slots }) =>
      spec.vizion && slots.some(({ id, generation }) => generation >= (least.get(id) ?? Infinity));
    const specs = registry.desired.apps.filter(isStarted).map(({ spec }) => spec);
    const found = await parts.readVersioning(specs);
    const known = new Map(specs.map(({ name }, at) => [name, found[at]]));
    const { desired } = registry;
    const apps = desired.apps.map((app) => {
      const versioning = known.get(app.spec.name);
      if (versioning === undefined || !isStarted(app) || isDeepStrictEqual(versioning, app.spec.versioning)) return app;
      return { ...app, spec: { ...app.spec, versioning } };
    });
    if (apps.every((app, at) => app === desired.apps[at])) return;
    registry.desired = { ...desired, apps };
    saveIfPossible(context);
  }

  return (up) => {
    if (up.length > 0) void inTurn(() => update(up)); // readVersioning() never rejects.
  };
}

/**
 * Runs git for each checkout and owner, not for each app.
 * @param {AppSpec[]} specs
 * @returns {Promise<(Versioning | null)[]>}  Null: not a checkout, git is missing, or git refuses
 *   the folder, for example because it belongs to another user. Never rejects.
 */
export async function readVersioning(specs) {
  /** @type {Map<string, Versioning | null>} */
  const known = new Map();
  const found = [];
  for (const spec of specs) {
    const root = (await findCheckout(dirname(spec.script))) ?? (await findCheckout(spec.cwd));
    const key = `${spec.uid} ${spec.gid} ${root}`;
    if (root !== null && !known.has(key)) known.set(key, await askGit(root, spec));
    found.push(known.get(key) ?? null);
  }
  return found;
}

/**
 * @param {string} folder
 * @returns {Promise<string | null>}
 */
async function findCheckout(folder) {
  const isRoot = await lstat(join(folder, '.git')).then(
    () => true,
    () => false,
  );
  if (isRoot) return folder;
  return folder === dirname(folder) ? null : findCheckout(dirname(folder));
}

/**
 * @param {string} text
 * @param {number} max
 */
function isShort(text, max) {
  return text.length <= max && !/\p{Cc}/u.test(text);
}

/**
 * Asks as the user of the app, because the configuration of a checkout may run programs.
 * @param {string} root
 * @param {AppSpec} spec
 * @returns {Promise<Versioning | null>}
 */
async function askGit(root, spec) {
  const env = {
    ...readProgramVariables(spec, process.env),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    TZ: 'UTC',
  };
  const output = await runAsUser(spec, 'sh', ['-c', QUESTIONS, root], { env, ...LIMITS }).then(
    (outcome) => outcome.output.toString('utf8'),
    () => '', // The system cannot start a process.
  );
  // After a limit was exceeded, the last parts are missing.
  const [branch, last = '', config = '', refs = '', status = ''] = output.split('\0');
  const [, update_time, revision, comment] = /^(?:HEAD@\{)?([\d:.TZ-]+)\}?\n(\w+)\n([^]*)$/.exec(last) ?? [];
  if (revision === undefined || !isShort(branch, NAME_MAX)) return null;
  const urls = [...config.matchAll(/^remote\.(.+)\.url (.*)$/gm)]
    .map(([, name, url]) => ({ name, url }))
    .filter(({ name }) => isShort(name, NAME_MAX));
  const remotes = [...new Set(urls.map(({ name }) => name))].slice(0, REMOTES_MAX);
  const tracked = config.split('\n').find((line) => line.startsWith(`branch.${branch}.remote `));
  const own = tracked?.slice(`branch.${branch}.remote `.length);
  const remote =
    remotes.find((name) => name === own) ?? remotes.find((name) => name === 'origin') ?? remotes[0] ?? null;
  const url = urls.find(({ name }) => name === remote)?.url ?? null;
  return {
    type: 'git',
    url: url !== null && isShort(url, URL_MAX) ? stripCredentials(url) : null,
    revision,
    comment: comment.trimEnd().slice(0, COMMENT_MAX),
    unstaged: status === '' ? null : /^[12u] /m.test(status),
    branch,
    remotes,
    remote,
    branch_exists_on_remote: refs.split('\n').includes(`refs/remotes/${remote}/${branch}`),
    ahead: /^# branch\.ab \+[1-9]/m.test(status),
    next_rev: null,
    prev_rev: null,
    update_time,
    repo_path: root,
  };
}

/** @param {string} url */
export function stripCredentials(url) {
  // Keeps the user name of an SSH address, because SSH needs the name.
  return url
    .replace(/^(https?:\/\/)[^/]*@/i, '$1')
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/:@]*):[^/]*@/i, '$1@')
    .replace(/^(https?:[^?#]*)[?#].*$/i, '$1');
}
