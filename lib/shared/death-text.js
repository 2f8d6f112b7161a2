import { formatAddress } from './address.js';
import { shellQuote } from './shell-quote.js';
import { UNLIMITED } from './units.js';

/** @import { Death, ListenFailure } from './wire/protocol.js' */

/** @param {{ autorestart: boolean, maxRestarts: number }} spec */
export function describeAutorestart({ autorestart, maxRestarts }) {
  if (!autorestart) return 'no';
  return maxRestarts === UNLIMITED ? 'yes, without a limit' : `yes, up to ${maxRestarts} unstable exits in 10m`;
}

export const CLEAN_EXIT = 'it had nothing left to do, or exited without an error';

/**
 * Text that follows "instance 0 ".
 * @param {Death} death
 * @param {{ listenTimeoutMs: number } | null} spec
 */
export function describeDeath(death, spec) {
  const reason = death.listenFailure ? describeListenFailure(death.listenFailure) : null;
  const after = ` after ${seconds(death.uptimeMs)}`;
  if (death.cause === 'spawn-failed') return `could not be started: ${death.lastLines.join(' ')}`;
  if (death.cause === 'boot-timeout' && reason) return `${reason}, and did not listen on another address`;
  if (death.cause === 'boot-timeout')
    return `was not ready in ${spec ? seconds(spec.listenTimeoutMs) : 'time'}${death.by ? ` (${death.by})` : ''}`;
  if (death.cause === 'out-of-memory') return `ran out of memory${after} (${death.by})`;
  if (death.signal !== null) return `was ended by ${death.signal}${after}`;
  if (death.code === null) return `ended${after}`;
  if (reason) return `${reason}, and exited with code ${death.code}${after}`;
  return `exited with code ${death.code}${after}${death.code === 0 ? ` (${CLEAN_EXIT})` : ''}`;
}

/**
 * Text that follows "it " or "instance 0 ".
 * @param {ListenFailure} failure
 */
export function describeListenFailure(failure) {
  const { code } = failure;
  const why =
    code === 'EADDRINUSE'
      ? `, which ${holderOf(failure)} holds`
      : code === 'EACCES'
        ? ', because its user is not allowed to (EACCES)'
        : ` (${code})`;
  return `could not listen on ${placeOf(failure)}${why}`;
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
export function adviseOnListenFailure({ code, family, app, holder }) {
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
      (holder?.pid === 0 ? 'ask that user to release this one' : 'end the program that holds this one')
    );
  if (code === 'EACCES' && family !== 0) return 'Only root may use ports below 1024; give it a higher one';
  return 'Fix the address that it listens on';
}

/** @param {ListenFailure} failure */
function holderOf({ app, holder }) {
  if (app !== null) return `the app "${app}"`;
  if (!holder) return 'another program';
  if (holder.isOwn) return `another instance of the app (pid ${holder.pid})`;
  if (holder.nclust) return `the nclust in "${holder.nclust.home}" (user ${holder.nclust.user}, pid ${holder.pid})`;
  return holder.pid === 0 ? holder.command : `${holder.command} (pid ${holder.pid})`;
}

/** @param {ListenFailure} failure */
function placeOf({ address, port, family, isUdp }) {
  if (family === 0) return `"${address}"`;
  if (address === null) return `port ${port}`;
  const place = formatAddress({ host: address, port });
  return isUdp ? `UDP ${place}` : place;
}

/** @param {number} ms */
function seconds(ms) {
  return `${Number((ms / 1000).toFixed(1))}s`;
}
