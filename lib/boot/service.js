// Knows: boot units for systemd, launchd and rc scripts; and `nclust daemon`, which they run.
// Must not: install anything that planService() has not named.
// Start at: resolveIntent(), then service-plan.js; foreground.js is for `nclust daemon`.
import { execFileSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NclustError } from '../shared/errors.js';
import { readIfThere, tryTo } from '../shared/daemon/files.js';
import { homePaths } from '../shared/paths.js';
import { runAsOwner } from '../shared/host/run-as-owner.js';
import { shellQuote } from '../shared/shell-quote.js';
import { launcherScript } from './launcher-script.js';
import { choosePlatform } from './platforms.js';
import { planService, USER_UNITS } from './service-plan.js';

/** @import { UserInfo } from 'node:os' */
/** @import { Context } from '../cli/session/context.js' */
/** @import { Platform } from './platforms.js' */
/** @import { PlannedFile, ServicePlan } from './service-plan.js' */

const MAIN = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));

/** Time that a stop may take in addition to the longest kill timeout of an app, in seconds. */
const STOP_SLACK_S = 30;
const STOP_MIN_S = 90;

/**
 * @typedef {object} Intent
 * @property {Platform} platform
 * @property {string} name
 * @property {ServiceUser} whose
 * @property {boolean} isUserUnit
 * @property {ServicePlan} plan
 * @property {PlannedFile} launcher
 * @property {string} node
 * @property {string} main
 */

/**
 * @param {string | undefined} word
 * @param {Record<string, any>} options  Options of the command.
 * @param {Context} context
 * @returns {Intent}  Throws ERR_NCLUST_USAGE and ERR_NCLUST_STARTUP.
 */
export function resolveIntent(word, options, context) {
  const { env, node } = context;
  const whose = resolveWhose(options, context);
  const platform = choosePlatform(word, {
    path: env.PATH,
    instead: `${shellQuote(node.file)} ${shellQuote(MAIN)} resurrect`,
  });
  const isUserUnit = options.userUnit === true;
  const name = options.serviceName ?? `nclust-${whose.user}`;
  const fault = (isUserUnit ? findUserUnitFault(platform, whose, options) : null) ?? findNameFault(name, whose);
  if (fault !== null) throw new NclustError('ERR_NCLUST_USAGE', fault);
  const launcher = {
    path: join(whose.home, 'launcher.sh'),
    text: launcherScript({ ...whose, node: node.file, main: MAIN, env: whose.uid === process.geteuid?.() ? env : {} }),
    mode: 0o600,
    isOwners: true,
  };
  const service = {
    name,
    ...whose,
    launcher: launcher.path,
    isUserUnit,
    waitsForIp: options.waitIp === true,
    stopSeconds: stopSeconds(whose),
  };
  const plan = planService(platform, service, { uid: whose.uid, configHome: env.XDG_CONFIG_HOME });
  return { platform, name, whose, isUserUnit, plan, launcher, node: node.file, main: MAIN };
}

/**
 * @param {Platform} platform
 * @param {ServiceUser} whose
 * @param {{ waitIp?: boolean }} options
 */
function findUserUnitFault(platform, { uid, user }, { waitIp }) {
  if (!USER_UNITS.includes(platform))
    return `--user-unit was given, and ${platform} has no services of users; accepted: ${USER_UNITS.join(', ')}.`;
  if (waitIp)
    return (
      '--wait-ip was given with --user-unit; accepted: one of the two, because services of users cannot ' +
      'wait for the network.'
    );
  if (uid === process.geteuid?.()) return null;
  return `--user-unit was given for "${user}"; accepted: only when "${user}" runs the command.`;
}

const CONTROLS = /\p{Cc}/u;

/**
 * @param {string} name
 * @param {ServiceUser} whose
 */
function findNameFault(name, { home }) {
  if (!/^[\w.@-]+$/.test(name))
    return `--service-name is ${JSON.stringify(name)}; accepted: letters, digits and the signs . _ @ -`;
  if (!CONTROLS.test(home)) return null;
  return (
    `The home is ${JSON.stringify(home)}; accepted: a path without line ends and control characters, ` +
    `because the file of a service cannot contain them.`
  );
}

/** @param {Intent} intent */
export function needsRoot({ isUserUnit }) {
  return !isUserUnit && process.geteuid?.() !== 0;
}

/**
 * The command line for root, in the form that PM2's users know.
 * @param {string} command
 * @param {Intent} intent
 * @param {Record<string, any>} options
 */
export function sudoLine(command, { platform, whose, node, main }, { serviceName, waitIp, home }) {
  const isUsual = whose.home === join(whose.userHome, '.nclust');
  const words = [
    command,
    platform,
    '-u',
    whose.user,
    '--hp',
    whose.userHome,
    ...(isUsual && home === undefined ? [] : ['--home', whose.home]),
    ...(serviceName === undefined ? [] : ['--service-name', serviceName]),
    ...(waitIp ? ['--wait-ip'] : []),
  ];
  // Quotes "$PATH", because PATH may contain spaces, as in WSL.
  return `sudo env PATH="$PATH":${shellQuote(dirname(node))} ${[node, main, ...words].map(shellQuote).join(' ')}`;
}

/** @param {ServiceUser} whose */
function stopSeconds(whose) {
  const longestMs = runAsOwner(whose, () => longestKillMs(whose.home));
  return Math.max(STOP_MIN_S, Math.ceil(longestMs / 1_000) + STOP_SLACK_S);
}

/**
 * @typedef {object} ServiceUser
 * @property {string} user
 * @property {number} uid
 * @property {number} gid
 * @property {string} userHome
 * @property {string} home  NCLUST_HOME.
 */

/**
 * @param {object} options
 * @param {string} [options.user]
 * @param {string} [options.hp]  The user's home directory.
 * @param {string} [options.home]
 * @param {{ cwd: string, env: Record<string, string | undefined> }} context
 * @returns {ServiceUser}
 */
function resolveWhose({ user: name, hp, home }, { cwd, env }) {
  const self = userInfo();
  const user = name === undefined || name === self.username ? selfAs(self, env) : other(name, hp);
  const userHome = hp === undefined ? user.userHome : resolve(cwd, hp);
  // Uses NCLUST_HOME only for the user who typed the command, and only without --hp.
  const own = user.uid === self.uid && hp === undefined ? env.NCLUST_HOME : undefined;
  return { ...user, userHome, home: resolve(cwd, home ?? (own || join(userHome, '.nclust'))) };
}

/**
 * @param {UserInfo<string>} self
 * @param {Record<string, string | undefined>} env
 */
function selfAs({ username, uid, gid, homedir }, env) {
  return { user: username, uid, gid, userHome: env.HOME || homedir };
}

/**
 * @param {string} user
 * @param {string | undefined} hp
 */
function other(user, hp) {
  const uid = asked('id', ['-u', user]);
  const gid = asked('id', ['-g', user]);
  if (!/^[^-/\s]/.test(user) || uid === null || gid === null)
    throw new NclustError('ERR_NCLUST_USAGE', `--user is "${user}", which does not exist.`);
  const userHome = hp ?? asked('getent', ['passwd', user])?.split(':')[5] ?? null;
  if (!userHome)
    throw new NclustError('ERR_NCLUST_USAGE', `The home directory of "${user}" could not be found.`, {
      hint: 'Give it with --hp.',
    });
  return { user, uid: Number(uid), gid: Number(gid), userHome };
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function asked(program, args) {
  const run = () => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  return tryTo(run, null); // The user or the program may not exist.
}

/** @param {string} home */
export function longestKillMs(home) {
  return tryTo(() => {
    /** @type {{ apps: { spec: { killTimeoutMs?: number } }[] }} */
    const { apps } = JSON.parse(readIfThere(homePaths(home).state));
    return Math.max(0, ...apps.map(({ spec }) => spec.killTimeoutMs ?? 0));
  }, 0); // Without a state file there are no apps.
}
