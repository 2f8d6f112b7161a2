import { formatAddress } from './address.js';
import { shellQuote } from './shell-quote.js';
import { formatDuration, UNLIMITED } from './units.js';

/** @import { ListenFailure } from './wire/protocol.js' */

/** @param {{ autorestart: boolean, maxRestarts: number }} spec */
export function describeAutorestart({ autorestart, maxRestarts }) {
  if (!autorestart) return 'no';
  return maxRestarts === UNLIMITED ? 'yes, without a limit' : `yes, up to ${maxRestarts} unstable exits in 10m`;
}

const CLEAN_EXIT = 'it had nothing left to do, or exited without an error';

/** Exits that a user or a rollout requested. @type {Record<string, string>} */
const REQUESTED = {
  stop: 'stopped',
  restart: 'restarted',
  reload: 'replaced by a reload',
  scale: 'scaled down',
  delete: 'deleted',
  orphan: 'left over from a manager that died, and replaced',
};

/** By the exit code of a shell, npm or Python that the signal ended. @type {Record<number, string>} */
const SIGNALS = { 129: 'SIGHUP', 130: 'SIGINT', 131: 'SIGQUIT', 143: 'SIGTERM' };

/**
 * Whether a user or a rollout requested the exit. It is then not a crash.
 * @param {Record<string, any>} death
 */
export function isAsked({ cause, by }) {
  return Object.hasOwn(REQUESTED, cause) || (cause === 'signal' && Boolean(by));
}

/**
 * Whether the program failed. A signal from outside is not a fault of the program.
 * @param {Record<string, any>} death
 */
export function isCrash(death) {
  return death.cause !== 'signal' && !isAsked(death);
}

/**
 * Text that follows "it " or "instance 0 ". Contains no output of the app.
 * @param {Record<string, any>} death  A Death, or the event of a death.
 * @param {{ listenTimeoutMs: number } | null} [spec]
 */
export function describeEnd(death, spec = null) {
  const { cause, by, code, signal, uptimeMs = 0, words } = death;
  const after = uptimeMs > 0 ? ` after ${formatDuration(uptimeMs)}` : '';
  const note = by ? ` (${by})` : '';
  const how = signal
    ? `was ${signal === 'SIGKILL' ? 'killed' : 'ended'} by ${signal}`
    : typeof code === 'number'
      ? `exited with code ${code}`
      : 'ended';
  if (cause === 'signal' && !by) return `${how}${signal ? '' : `, as after ${SIGNALS[code]}`} from outside${after}`;
  if (cause === 'signal')
    return signal
      ? `${how}, which nclust sendSignal sent${after && `,${after}`}`
      : `${how}${after}, after nclust ${by}`;
  if (isAsked(death))
    return (
      `${signal === 'SIGKILL' ? 'did not exit in time and was killed' : how}${after}: ${REQUESTED[cause]}` +
      (by && by !== cause ? ` by ${by}` : '')
    );
  if (cause === 'unhealthy') return `${withoutPrefix(by)}, and was replaced${after}`;
  if (cause === 'spawn-failed') return `could not be started${words ? `: ${words}` : ''}`;
  if (cause === 'out-of-memory') return `ran out of memory${after}${note}`;
  const reason = death.listenFailure ? describeListenFailure(death.listenFailure) : null;
  if (cause === 'boot-timeout')
    return reason
      ? `${reason}, and did not listen on another address`
      : `was not ready in ${spec ? formatDuration(spec.listenTimeoutMs) : 'time'}${note}`;
  if (signal) return `${how}${after}${note}`;
  if (reason) return `${reason}, and ${how}${after}`;
  return `${how}${after}${code === 0 ? ` (${CLEAN_EXIT})` : ''}`;
}

/**
 * Follows describeEnd(). Empty if the app has written no such line, or if the text of describeEnd()
 * contains its reason.
 * @param {Record<string, any>} death  A Death, a NotUp, or the event of a death or of a failed reload.
 * @returns {string}  `, "TypeError: no rows" in render (report.js:31)`.
 */
export function quoteErrorLine({ cause, words, frame, listenFailure }) {
  if (!words || cause === 'spawn-failed' || (listenFailure && words.includes(listenFailure.code))) return '';
  return `, "${words}"${frame ? ` in ${frame}` : ''}`;
}

/**
 * Text that follows "it " or "instance 0 ".
 * @param {ListenFailure} failure
 */
export function describeListenFailure(failure) {
  const { code } = failure;
  const why =
    code === 'EADDRINUSE'
      ? `, which ${describeHolder(failure)} holds`
      : code === 'EACCES'
        ? ', because its user is not allowed to (EACCES)'
        : ` (${code})`;
  return `could not listen on ${describePlace(failure)}${why}`;
}

/**
 * @param {ListenFailure} failure
 * @param {string} name  Of the app that could not listen.
 */
export function adviseOnPort(failure, name) {
  if (failure.app !== name && !failure.holder?.isOwn) return adviseOnListenFailure(failure);
  return (
    'Instances in fork mode cannot share an address. In cluster mode, those of a Node.js script can: ' +
    `nclust start ${shellQuote(name)} -i <number>`
  );
}

/** @param {ListenFailure} failure */
export function adviseOnListenFailure({ code, family, port, app, holder }) {
  if (holder?.isOwn) return 'Instances of this app cannot run side by side: use nclust restart instead of reload';
  if (holder?.isPm2) return 'An app of PM2 holds it. Find it with: pm2 list; then: pm2 stop <app>';
  const what = family === 0 ? 'path' : 'port';
  if (holder?.nclust)
    return (
      `Give it another ${what}, or stop the app that holds it. As user ${holder.nclust.user}, find the app with: ` +
      `NCLUST_HOME=${shellQuote(holder.nclust.home)} nclust list`
    );
  if (code === 'EADDRINUSE')
    return (
      `Give ${app === null ? 'it' : 'one of them'} another ${what}, or ` +
      (holder?.pid === 0
        ? `find what holds this one, as root: ss -ltunp "sport = :${port}"`
        : 'end the program that holds this one')
    );
  if (code === 'EACCES' && family !== 0) return 'Only root may use ports below 1024; give it a higher one';
  return 'Fix the address that it listens on';
}

/** @param {ListenFailure} failure */
function describeHolder({ app, holder }) {
  if (app !== null) return `the app "${app}"`;
  if (!holder) return 'another program';
  if (holder.isOwn) return `another instance of the app (pid ${holder.pid})`;
  if (holder.nclust) return `the nclust in "${holder.nclust.home}" (user ${holder.nclust.user}, pid ${holder.pid})`;
  return holder.pid === 0 ? holder.command : `${holder.command} (pid ${holder.pid})`;
}

/** @param {ListenFailure} failure */
function describePlace({ address, port, family, isUdp }) {
  if (family === 0) return `"${address}"`;
  if (address === null) return `port ${port}`;
  const place = formatAddress({ host: address, port });
  return isUdp ? `UDP ${place}` : place;
}

/**
 * @param {string | null | undefined} by  A trigger and its reason: "memory: 120 MB of 100 MB".
 */
export function withoutPrefix(by) {
  return String(by).replace(/^\w+: /, '');
}
