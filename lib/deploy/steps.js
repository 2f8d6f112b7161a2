import { deployFailed } from './failure.js';
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
/** @import { Deployment } from './settings.js' */

/**
 * @typedef {object} Surroundings
 * @property {string} folder  Of the config file: where local hooks run.
 * @property {Record<string, string | undefined>} env
 * @property {boolean} isParallel
 * @property {number} nowMs
 * @property {string} who  Deploys, for others who want to.
 * @property {AbortSignal} signal  Ends what is run, here and over ssh.
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
  await whileLocked(deployment, around, { hosts: fresh, doing: 'Setting up', isFirst: true }, async (lock) => {
    if (deployment.hooks['pre-setup'] !== '')
      await onHosts(deployment, around, {
        doing: 'Setting up',
        hosts: fresh,
        script: () => preSetupScript(deployment),
      });
    await onHosts(deployment, around, { doing: 'Setting up', hosts: fresh, script: () => fetchScript(deployment) });
    await publish(deployment, around, {
      hosts: fresh,
      ref: deployment.ref,
      doing: 'Setting up',
      hookName: 'post-setup',
      lock,
    });
  });
}

/**
 * A new release on every host: first all of them are made, then one host after the other switches
 * to its own.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {string} ref
 */
export async function update(deployment, around, ref) {
  const local = deployment.hooks['pre-deploy-local'];
  if (local !== '') {
    const { code } = await runLocal(local, {
      cwd: around.folder,
      env: { ...around.env, ...deployment.env },
      signal: around.signal,
      onLine: (line) => around.onLine('local', line),
    });
    if (code !== 0)
      throw new NclustError(
        'ERR_NCLUST_DEPLOY_FAILED',
        `Deploying "${deployment.name}" was not begun: "pre-deploy-local" ended with ${code}. Nothing was ` +
          `touched on any host.`,
        { data: { code, step: 'pre-deploy-local' } },
      );
  }
  const { hosts } = deployment;
  await whileLocked(deployment, around, { hosts, doing: 'Deploying', isFirst: false }, (lock) =>
    publish(deployment, around, { hosts, ref, doing: 'Deploying', hookName: 'post-deploy', lock }),
  );
}

/**
 * Back to the release that was current before, or one earlier.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {number} back
 */
export async function revert(deployment, around, back) {
  const accounts = await onHosts(deployment, around, {
    doing: 'Reverting',
    script: () => revertScript(deployment, back, newLock(around)),
  });
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
  await onHosts(deployment, around, {
    doing: 'Running a command on',
    script: () => execScript(deployment, command),
    isPlain: true,
  });
}

/**
 * Removes what a deployment has left behind that did not come to its end.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 */
export async function unlock(deployment, around) {
  const accounts = await onHosts(deployment, around, {
    doing: 'Unlocking',
    script: () => unlockScript(deployment, null),
    isPlain: true,
  });
  for (const {
    host,
    facts: { unlocked },
  } of accounts)
    around.talk(
      unlocked === undefined ? `${host} was not locked.` : `${host} was locked by ${unlocked}, and is not any more.`,
    );
}

/**
 * Two deployments to a host at a time would fetch into one repository, remove each other's
 * releases, and leave the hosts with different ones.
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {{ hosts: string[], doing: string, isFirst: boolean }} o
 * @param {(lock: Lock) => Promise<void>} work  When it succeeds each host has given its lock back.
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
      onFacts: (host, facts) => {
        if (facts.held) held.add(host);
      },
    });
    await work(lock);
  } catch (error) {
    // Also after Ctrl-C, and for hosts that another one has failed for.
    const calm = { ...around, signal: new AbortController().signal, isParallel: true };
    await onHosts(deployment, calm, {
      doing: 'Unlocking',
      hosts: hosts.filter((host) => held.has(host)),
      script: () => unlockScript(deployment, lock),
      isPlain: true,
    }).catch((failure) => around.talk(failure.message));
    throw error;
  }
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
  // One commit for all: a branch may move while the second host is at work.
  const [
    {
      facts: { commit },
    },
  ] = await onHosts(deployment, around, {
    doing,
    hosts: hosts.slice(0, 1),
    script: () => resolveScript(deployment, ref),
  });
  around.talk(`${doing} ${deployment.name}: ${ref} is ${commit}.`);
  const time = new Date(around.nowMs).toISOString().replace(/\D/g, '').slice(0, 14);
  const hasHook = hookName === 'post-deploy' && deployment.hooks['pre-deploy'] !== '';
  const staged = await onHosts(deployment, around, {
    doing,
    hosts,
    script: () => stageScript(deployment, { commit, time, hasHook }),
  });
  const releases = new Map(staged.map(({ host, facts }) => [host, facts]));
  const script = (/** @type {string} */ host) =>
    activateScript(deployment, { release: releases.get(host)?.release ?? '', hookName, lock });
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
 * @param {(host: string, facts: Record<string, string>) => void} [o.onFacts]  What was heard,
 *   however it ended.
 * @param {boolean} [o.isPlain]  It changes nothing about releases: there is no account of them, and
 *   the exit status is that of the command.
 * @returns {Promise<Account[]>}  Rejects with ERR_NCLUST_DEPLOY_FAILED, which names the failed
 *   hosts in the order of the config, with an account of all.
 */
async function onHosts(
  deployment,
  around,
  { doing, hosts = deployment.hosts, script, known = new Map(), onFacts = () => {}, isPlain = false },
) {
  /** @type {Account[]} */
  const accounts = hosts.map((host) => ({ host, facts: { ...known.get(host) }, isBegun: false }));
  /** @type {{ host: string, code: number }[]} */
  const failed = [];
  /** @param {Account} account */
  const one = async (account) => {
    account.isBegun = true;
    const { code, facts } = await runRemote(deployment, account.host, script(account.host), {
      env: around.env,
      signal: around.signal,
      onLine: (line) => around.onLine(account.host, line),
    });
    Object.assign(account.facts, facts);
    onFacts(account.host, facts);
    if (code !== 0) failed.push({ host: account.host, code });
  };
  if (around.isParallel) await Promise.all(accounts.map(one));
  else for (const account of accounts) if (failed.length === 0) await one(account);
  // In the order of the config, whichever host failed first.
  failed.sort((a, b) => hosts.indexOf(a.host) - hosts.indexOf(b.host));
  if (failed.length > 0) throw deployFailed({ name: deployment.name, doing, failed, accounts, isPlain });
  return accounts;
}
