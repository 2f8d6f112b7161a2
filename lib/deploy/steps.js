import { deployFailed } from './failure.js';
import { runLocal, runRemote } from './remote.js';
import { activateScript, execScript, fetchScript, isSetUpScript, listScript, preSetupScript, resolveScript, revertScript, showScript, stageScript } from './scripts.js';
import { NclustError } from '../shared/errors.js';

/** @typedef {import('./settings.js').Deployment} Deployment */
/** @typedef {import('./remote.js').Line} Line */
/** @typedef {import('./failure.js').Account} Account */

/**
 * @typedef {object} Surroundings
 * @property {string} folder  Of the config file: where local hooks run.
 * @property {Record<string, string|undefined>} env
 * @property {boolean} isParallel
 * @property {number} nowMs
 * @property {(host: string, line: Line) => void} onLine
 * @property {(sentence: string) => void} talk
 */

/**
 * Makes a host ready, with a first release that is current.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 */
export async function setUp(deployment, around) {
  const asked = await onHosts(deployment, around, { doing: 'Setting up', script: () => isSetUpScript(deployment) });
  const fresh = deployment.hosts.filter((_, at) => !asked[at].facts.previous);
  for (const host of deployment.hosts) if (!fresh.includes(host)) around.talk(`${host} is set up already.`);
  if (fresh.length === 0) return;
  if (deployment.hooks['pre-setup'] !== '') await onHosts(deployment, around, { doing: 'Setting up', hosts: fresh, script: () => preSetupScript(deployment) });
  await onHosts(deployment, around, { doing: 'Setting up', hosts: fresh, script: () => fetchScript(deployment) });
  await publish(deployment, around, { hosts: fresh, ref: deployment.ref, doing: 'Setting up', hookName: 'post-setup' });
}

/**
 * A new release on every host: first all of them are made, then one host after the other switches to its own.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {string} ref
 */
export async function update(deployment, around, ref) {
  const local = deployment.hooks['pre-deploy-local'];
  if (local !== '') {
    const { code } = await runLocal(local, { cwd: around.folder, env: { ...around.env, ...deployment.env }, onLine: (line) => around.onLine('local', line) });
    if (code !== 0) throw new NclustError('ERR_NCLUST_DEPLOY_FAILED', `Deploying "${deployment.name}" was not begun: "pre-deploy-local" ended with ${code}. Nothing was touched on any host.`, { data: { code, step: 'pre-deploy-local' } });
  }
  await publish(deployment, around, { hosts: deployment.hosts, ref, doing: 'Deploying', hookName: 'post-deploy' });
}

/**
 * Back to the release that was current before, or one earlier.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {number} back
 */
export async function revert(deployment, around, back) {
  const accounts = await onHosts(deployment, around, { doing: 'Reverting', script: () => revertScript(deployment, back) });
  for (const { host, facts } of accounts) around.talk(`${host} runs ${facts.active}.`);
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {number} back  0: the current release.
 */
export async function show(deployment, around, back) {
  await onHosts(deployment, around, { doing: 'Looking at', script: () => showScript(deployment, back), isPlain: true });
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 */
export async function list(deployment, around) {
  await onHosts(deployment, around, { doing: 'Looking at', script: () => listScript(deployment), isPlain: true });
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {string} command
 */
export async function execute(deployment, around, command) {
  await onHosts(deployment, around, { doing: 'Running a command on', script: () => execScript(deployment, command), isPlain: true });
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {{hosts: string[], ref: string, doing: string, hookName: 'post-setup'|'post-deploy'}} o
 */
async function publish(deployment, around, { hosts, ref, doing, hookName }) {
  // One commit for all: a branch may move while the second host is at work.
  const [{ facts: { commit } }] = await onHosts(deployment, around, { doing, hosts: hosts.slice(0, 1), script: () => resolveScript(deployment, ref) });
  around.talk(`${doing} ${deployment.name}: ${ref} is ${commit}.`);
  const time = new Date(around.nowMs).toISOString().replace(/\D/g, '').slice(0, 14);
  const hasHook = hookName === 'post-deploy' && deployment.hooks['pre-deploy'] !== '';
  const staged = await onHosts(deployment, around, { doing, hosts, script: () => stageScript(deployment, { commit, time, hasHook }) });
  const releases = new Map(staged.map(({ host, facts }) => [host, facts]));
  const script = (/** @type {string} */ host) => activateScript(deployment, { release: releases.get(host)?.release ?? '', hookName });
  const done = await onHosts(deployment, around, { doing, hosts, script, known: releases });
  for (const { host, facts } of done) around.talk(`${host} runs ${facts.active}.`);
}

/**
 * Runs a script on hosts, one after the other or all at once. After a failure no other is begun.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {object} o
 * @param {string} o.doing
 * @param {string[]} [o.hosts]
 * @param {(host: string) => string} o.script
 * @param {Map<string, Record<string, string>>} [o.known]  What was heard of each host before.
 * @param {boolean} [o.isPlain]  It changes nothing about releases: there is no account of them, and the exit status is that of the command.
 * @returns {Promise<Account[]>}  Rejects with ERR_NCLUST_DEPLOY_FAILED for the first host that failed, with an account of all.
 */
async function onHosts(deployment, around, { doing, hosts = deployment.hosts, script, known = new Map(), isPlain = false }) {
  /** @type {Account[]} */
  const accounts = hosts.map((host) => ({ host, facts: { ...known.get(host) }, isBegun: false }));
  /** @type {{host: string, code: number}[]} */
  const failed = [];
  /** @param {Account} account */
  const one = async (account) => {
    account.isBegun = true;
    const { code, facts } = await runRemote(deployment, account.host, script(account.host), { env: around.env, onLine: (line) => around.onLine(account.host, line) });
    Object.assign(account.facts, facts);
    if (code !== 0) failed.push({ host: account.host, code });
  };
  if (around.isParallel) await Promise.all(accounts.map(one));
  else for (const account of accounts) if (failed.length === 0) await one(account);
  if (failed.length > 0) throw deployFailed({ name: deployment.name, doing, failed, accounts, isPlain });
  return accounts;
}
