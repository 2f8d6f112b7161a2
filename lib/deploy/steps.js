// Knows: `nclust deploy`: the shell scripts for the hosts, what runs where, and in which order.
// Must not: leave a host without a complete current release.
// Start at: setUp() and update() below, then scripts.js; remote.js runs ssh.
import { deployError, wrongReport } from './failure.js';
import { lockScript, unlockScript } from './lock.js';
import { runLocal, runRemote } from './remote.js';
import {
  activateScript,
  execScript,
  fetchScript,
  isSetUpScript,
  listScript,
  preSetupScript,
  resolveScript,
  revertScript,
  showScript,
  stageScript,
} from './scripts.js';
import { NclustError } from '../shared/errors.js';

/** @import { Account } from './failure.js' */
/** @import { Lock } from './lock.js' */
/** @import { Line } from './remote.js' */
/** @import { Deployment } from './deployment.js' */

/**
 * @typedef {object} Surroundings
 * @property {string} folder  Of the config file. Local hooks run in it.
 * @property {Record<string, string | undefined>} env
 * @property {boolean} isParallel
 * @property {number} nowMs
 * @property {string} who  The person who deploys, shown to others while the host is locked.
 * @property {AbortSignal} signal  Ends local hooks and ssh.
 * @property {(host: string, line: Line) => void} onLine
 * @property {(sentence: string) => void} printMessage
 */

/**
 * Skips hosts that have a release.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 */
export async function setUp(deployment, around) {
  const doing = 'Setting up';
  const accounts = await onHosts(deployment, around, { doing, script: () => isSetUpScript(deployment) });
  const hosts = deployment.hosts.filter((_, at) => !accounts[at].reports.previous);
  for (const host of deployment.hosts) if (!hosts.includes(host)) around.printMessage(`${host} is already set up.`);
  if (hosts.length === 0) return;
  const { ref, hooks } = deployment;
  await whileLocked(deployment, around, { hosts, doing, isFirst: true }, async (lock) => {
    if (hooks['pre-setup'] !== '')
      await onHosts(deployment, around, { doing, hosts, script: () => preSetupScript(deployment) });
    await onHosts(deployment, around, { doing, hosts, script: () => fetchScript(deployment) });
    await publish(deployment, around, { hosts, ref, doing, hookName: 'post-setup', lock });
  });
}

/**
 * Every host gets the new release before the first host switches to it.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {string} ref
 */
export async function update(deployment, around, ref) {
  const doing = 'Deploying';
  const { hosts, hooks } = deployment;
  if (hooks['pre-deploy-local'] !== '') await runLocalHook(deployment, around);
  await whileLocked(deployment, around, { hosts, doing, isFirst: false }, (lock) =>
    publish(deployment, around, { hosts, ref, doing, hookName: 'post-deploy', lock }),
  );
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 */
async function runLocalHook({ name, hooks, env }, around) {
  const step = 'pre-deploy-local';
  const { code } = await runLocal(hooks[step], {
    cwd: around.folder,
    env: { ...around.env, ...env },
    signal: around.signal,
    onLine: (line) => around.onLine('local', line),
  });
  if (code !== 0)
    throw new NclustError(
      'ERR_NCLUST_DEPLOY_FAILED',
      `Deploying "${name}" was not started: "${step}" exited with ${code}. Nothing was changed on any host.`,
      { data: { code, step } },
    );
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {number} back
 */
export async function revert(deployment, around, back) {
  const script = () => revertScript(deployment, back, newLock(around));
  await runActivation(deployment, around, { doing: 'Reverting', script });
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {number} back  0: the current release.
 */
export function show(deployment, around, back) {
  const script = () => showScript(deployment, back);
  return onHosts(deployment, around, { doing: 'Showing a release of', script, isPlain: true });
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 */
export function list(deployment, around) {
  const script = () => listScript(deployment);
  return onHosts(deployment, around, { doing: 'Listing the releases of', script, isPlain: true });
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {string} command
 */
export function execute(deployment, around, command) {
  const script = () => execScript(deployment, command);
  return onHosts(deployment, around, { doing: 'Running a command on', script, isPlain: true, isExec: true });
}

/**
 * Removes the lock of a deployment that did not finish.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 */
export async function unlock(deployment, around) {
  const script = () => unlockScript(deployment, null);
  const accounts = await onHosts(deployment, around, { doing: 'Unlocking', script, isPlain: true });
  for (const { host, reports } of accounts) {
    const owner = reports.unlocked;
    around.printMessage(
      owner === undefined ? `${host} was not locked.` : `${host} was locked by ${owner}. It is unlocked now.`,
    );
  }
}

/**
 * Locks the hosts during `work`. Without the lock, two deployments at the same time would fetch
 * into one repository, remove each other's releases, and leave different releases on the hosts.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {{ hosts: string[], doing: string, isFirst: boolean }} o
 * @param {(lock: Lock) => Promise<void>} work  If it succeeds, the hosts have removed their locks.
 */
async function whileLocked(deployment, around, { hosts, doing, isFirst }, work) {
  const lock = newLock(around);
  /** @type {Set<string>} */
  const held = new Set();
  try {
    await onHosts(deployment, around, {
      doing,
      hosts,
      script: () => lockScript(deployment, lock, { isFirst }),
      onReports: (host, reports) => {
        if (reports.held) held.add(host);
      },
    });
    await work(lock);
  } catch (error) {
    await unlockHeld(deployment, around, { hosts: hosts.filter((host) => held.has(host)), lock });
    throw error;
  }
}

/**
 * Does not use the abort signal of the command, because Ctrl-C may have aborted it already.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {{ hosts: string[], lock: Lock }} o
 */
async function unlockHeld(deployment, around, { hosts, lock }) {
  const uninterrupted = { ...around, signal: new AbortController().signal, isParallel: true };
  const script = () => unlockScript(deployment, lock);
  await onHosts(deployment, uninterrupted, { doing: 'Unlocking', hosts, script, isPlain: true }).catch((failure) =>
    around.printMessage(failure.message),
  );
}

/**
 * @param {Surroundings} around
 * @returns {Lock}
 */
function newLock({ who, nowMs }) {
  return { token: globalThis.crypto.randomUUID(), owner: `${who} since ${new Date(nowMs).toISOString()}` };
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {object} o
 * @param {string[]} o.hosts
 * @param {string} o.ref
 * @param {string} o.doing
 * @param {'post-setup' | 'post-deploy'} o.hookName
 * @param {Lock} o.lock
 */
async function publish(deployment, around, { hosts, ref, doing, hookName, lock }) {
  // Only the first host resolves the ref, so that all hosts get the same commit even if the ref
  // changes in the repository during the deployment.
  const first = { doing, hosts: hosts.slice(0, 1), mustReport: { commit: COMMIT } };
  const script = () => resolveScript(deployment, ref);
  const [resolved] = await onHosts(deployment, around, { ...first, script });
  const { commit } = resolved.reports;
  around.printMessage(`${doing} ${deployment.name}: ${ref} is ${commit}.`);

  const time = new Date(around.nowMs).toISOString().replace(/\D/g, '').slice(0, 14);
  const hasHook = hookName === 'post-deploy' && deployment.hooks['pre-deploy'] !== '';
  const stage = () => stageScript(deployment, { commit, time, hasHook });
  const staged = await onHosts(deployment, around, { doing, hosts, script: stage, mustReport: { release: RELEASE } });

  const known = new Map(staged.map(({ host, reports }) => [host, reports]));
  const activate = (/** @type {string} */ host) =>
    activateScript(deployment, { release: known.get(host)?.release ?? '', hookName, lock });
  await runActivation(deployment, around, { doing, hosts, script: activate, known });
}

/**
 * Runs a script that makes a release the current one.
 * @type {(...given: Parameters<typeof onHosts>) => Promise<void>}
 */
async function runActivation(deployment, around, o) {
  const accounts = await onHosts(deployment, around, { ...o, mustReport: { active: RELEASE } });
  for (const { host, reports } of accounts) around.printMessage(`${host} runs ${reports.active}.`);
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** A name in the folder of releases. */
const RELEASE = /^\w[\w.-]{0,199}$/;

/**
 * Runs a script on each host. Without isParallel, stops at the first host that fails.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {object} o
 * @param {string} o.doing
 * @param {string[]} [o.hosts]
 * @param {(host: string) => string} o.script
 * @param {Map<string, Record<string, string>>} [o.known]  Earlier reports, by host.
 * @param {(host: string, reports: Record<string, string>) => void} [o.onReports]  Called for each
 *   host on which the script ran, even if the script failed.
 * @param {Record<string, RegExp>} [o.mustReport]  The facts that each host must report.
 * @param {boolean} [o.isPlain]  The script does not change releases. Then an error does not list
 *   the releases.
 * @param {boolean} [o.isExec]  The script is a command of the user. nclust exits with its status.
 * @returns {Promise<Account[]>}
 */
async function onHosts(
  deployment,
  around,
  {
    doing,
    hosts = deployment.hosts,
    script,
    known = new Map(),
    onReports = () => {},
    mustReport = {},
    isPlain = false,
    isExec = false,
  },
) {
  /** @type {Account[]} */
  const accounts = hosts.map((host) => ({ host, reports: { ...known.get(host) }, isBegun: false }));
  /** @type {{ host: string, code: number }[]} */
  const failed = [];
  /** @param {Account} account */
  const runRemotely = async (account) => {
    account.isBegun = true;
    const { code, reports } = await runRemote(deployment, account.host, script(account.host), {
      env: around.env,
      signal: around.signal,
      onLine: (line) => around.onLine(account.host, line),
    });
    Object.assign(account.reports, reports);
    onReports(account.host, reports);
    if (code !== 0) failed.push({ host: account.host, code });
  };
  if (around.isParallel) await Promise.all(accounts.map(runRemotely));
  else for (const account of accounts) if (failed.length === 0) await runRemotely(account);
  // The error names hosts in the order of the config.
  failed.sort((a, b) => hosts.indexOf(a.host) - hosts.indexOf(b.host));
  if (failed.length > 0) throw deployError({ name: deployment.name, doing, failed, accounts, isPlain, isExec });
  for (const [key, form] of Object.entries(mustReport))
    for (const { host, reports } of accounts)
      if (!form.test(reports[key] ?? '')) throw wrongReport({ name: deployment.name, doing, accounts, host, key });
  return accounts;
}
