import { fileURLToPath } from 'node:url';
import { carryOut } from '../cli/session/await-change.js';
import { endManager } from '../client/end-manager.js';
import { notRunningError, printNotRunning } from '../client/not-running.js';
import { NclustError } from '../shared/errors.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Client } from '../client/client.js' */
/** @import { Hello, NotUp } from '../shared/wire/protocol.js' */

/**
 * @typedef {object} Update
 * @property {Hello | null} before  Null: no manager runs.
 * @property {Hello | null} after
 * @property {('control' | 'keeper')[]} replaced
 * @property {number} workers  Processes that were replaced.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/**
 * @param {Context} context
 * @returns {Promise<Update>}  Resolves when the new manager answers. With `wait`, resolves when
 *   every app that was up is up again.
 */
export async function update(context) {
  const client = await context.managerOfAnyVersion();
  const before = client?.hello;
  if (!client || !before) {
    printNotRunning(context, context.printUnlessJson);
    return { before: null, after: null, replaced: [], workers: 0 };
  }
  const { file, version } = context.node;
  const answered = new AbortController();
  const installation = { root: ROOT, node: file, nodeVersion: version };
  const answer = carryOut(context, 'update', installation, 'Updating nclust');
  /** @type {{ slots: unknown[], manager: Hello }} */
  const { slots, manager: after } = await Promise.race([answer, waitForAnswer(client, answered.signal)])
    .catch(explain)
    .finally(() => answered.abort());
  const isNewKeeper = after.keeperPid !== before.keeperPid;
  /** @type {Update['replaced']} */
  const replaced = isNewKeeper ? ['control', 'keeper'] : after.controlPid !== before.controlPid ? ['control'] : [];
  /** @type {Update} */
  const done = { before, after, replaced, workers: isNewKeeper ? slots.length : 0 };
  context.printUnlessJson(describe(done, context.isWaiting));
  return done;
}

/**
 * @param {Update} update
 * @param {boolean} isWaitedFor
 */
function describe({ before, after, replaced, workers }, isWaitedFor) {
  const to = after?.version;
  // If new files have overwritten the old files, a control that restarts already runs the new
  // version. Then only the keeper has the old version.
  const from = before?.version === to && replaced.length > 1 ? before?.keeperVersion : before?.version;
  if (replaced.length === 0) return `nclust ${to} runs already; nothing was replaced.`;
  const what = from === to ? `nclust ${to} was replaced by the one in ${ROOT}` : `nclust ${from} was replaced by ${to}`;
  if (replaced.length === 1) return `${what}: only control; the workers keep running.`;
  const many = `${workers} workers ${isWaitedFor ? 'were' : 'are being'} replaced one by one`;
  const those = ['there were no workers', `one worker ${isWaitedFor ? 'was' : 'is being'} replaced`][workers] ?? many;
  return `${what}: keeper and control; ${those}.`;
}

/**
 * @param {unknown} error
 * @returns {never}
 */
function explain(error) {
  if (!(error instanceof NclustError)) throw error;
  if (error.code === 'ERR_NCLUST_NOT_UP') throw notAllReplaced(error);
  if (error.code !== 'ERR_NCLUST_PROTOCOL') throw error;
  throw new NclustError(
    'ERR_NCLUST_UPDATE_FAILED',
    'The running manager is too old to be updated; nothing was replaced.',
    { hint: 'Replace it with its own "nclust kill", then start the apps again with: nclust resurrect', cause: error },
  );
}

/**
 * Rewords the error, because the update of the manager succeeded: only some workers were not
 * replaced.
 * @param {NclustError} error
 */
function notAllReplaced(error) {
  const { slots = [] } = /** @type {{ slots?: NotUp[] }} */ (error.data ?? {});
  const names = [...new Set(slots.map(({ name }) => name))];
  return new NclustError(
    'ERR_NCLUST_NOT_UP',
    'The manager was replaced, but not every worker. Old workers that listen keep serving.',
    {
      hint: `Fix the app, then: nclust reload ${names.join(' ') || 'all'}`,
      data: error.data,
      cause: error,
    },
  );
}

const PAUSE_MS = 5_000;

/**
 * Limit for unanswered pings in a row. Each ping waits 10 s for its answer. In the time of all
 * these pings, the keeper can replace a hung control.
 */
const UNANSWERED_MAX = 3;

/**
 * @param {Pick<Client, 'request'>} client
 * @param {AbortSignal} over  Ends the pings.
 * @returns {Promise<never>}  Rejects after UNANSWERED_MAX failed pings in a row, with the error of
 *   the last ping. Never resolves.
 */
export function waitForAnswer(client, over) {
  return new Promise((_, reject) => {
    let unanswered = 0;
    /** @type {NodeJS.Timeout} */
    let timer;
    const later = () => {
      if (!over.aborted) timer = setTimeout(ask, PAUSE_MS);
    };
    const ask = () => {
      client.request('hello').then(
        () => {
          unanswered = 0;
          later();
        },
        (error) => {
          unanswered += 1;
          if (unanswered < UNANSWERED_MAX) later();
          else reject(error);
        },
      );
    };
    over.addEventListener('abort', () => clearTimeout(timer), { once: true });
    later();
  });
}

/**
 * Stops every app, then the manager.
 * @param {Context} context
 */
export async function kill({ home, open, printUnlessJson }) {
  const { wasRunning } = await endManager(home, { open });
  printUnlessJson(
    wasRunning ? 'All apps and the manager have exited.' : `No nclust runs in ${home}; there is nothing to stop.`,
  );
  return { wasRunning };
}

/** @param {Context} context */
export async function ping(context) {
  const client = await context.runningManager();
  if (!client?.hello) throw notRunningError(context);
  return { hello: client.hello };
}

/** @param {{ hello: Hello }} data */
export function renderPing({ hello }) {
  return `pong: nclust ${hello.version}, keeper pid ${hello.keeperPid}, control pid ${hello.controlPid}\n`;
}
