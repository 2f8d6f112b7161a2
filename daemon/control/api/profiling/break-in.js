import { constants } from 'node:os';
import { readFileSync } from 'node:fs';
import { NclustError } from '../../../../lib/shared/errors.js';
import { ask, oneWorker, place } from './worker.js';

/** @import { Client } from '../connection.js' */
/** @import { Desk } from '../methods.js' */
/** @import { Worker } from './worker.js' */

/**
 * Lets a debugger into a worker whose event loop is held up: Node takes SIGUSR1 in a thread of its own, and opens the inspector on a free port of 127.0.0.1. When the
 * client says that it is over, or goes, it is shut as soon as the loop turns.
 * @param {Desk} desk
 * @param {{target: string, isOver: boolean, isLeftOpen: boolean}} question  `isLeftOpen`: somebody had opened it before.
 * @param {Pick<Client, 'subscriptions'|'signal'>} client
 * @returns {Promise<object>}
 */
export async function breakIn(desk, { target, isOver, isLeftOpen }, { subscriptions, signal }) {
  const one = oneWorker(desk, target);
  const subscription = `break-in-${one.id}`;
  // A keeper that is just being replaced has left it an orphan, which control replaces.
  const shut = () => void ask(desk, one, 'profile', { question: { step: 'shut' } }, 0).catch(() => {});
  if (isOver || isLeftOpen) {
    subscriptions.delete(subscription);
    if (isOver) shut();
    return { slot: place(one) };
  }
  checkListens(one);
  await checkOwnHandler(desk, one);
  if (signal.aborted) return { slot: place(one) };
  subscriptions.set(subscription, shut);
  await ask(desk, one, 'signal', { signal: 'SIGUSR1' });
  return { slot: place(one) };
}

/** The signal would end a process that does not catch it. @param {Worker} one */
function checkListens(one) {
  const { pid } = one.instance;
  if (process.platform !== 'linux') throw refusal(one, 'does not answer, and only on Linux can nclust look into a process that does not', `See: sample ${pid}`);
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(statusOf(pid))?.[1] ?? '0';
  const isCaught = ((BigInt(`0x${caught}`) >> BigInt(constants.signals.SIGUSR1 - 1)) & 1n) === 1n;
  if (!isCaught) throw refusal(one, 'does not answer, and does not let a debugger in: it has only just begun, or its Node was started with --disable-sigusr1', `See: gdb -p ${pid}`);
}

/** @param {number} pid */
function statusOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return ''; // It has just ended.
  }
}

/** @param {Desk} desk @param {Worker} one */
async function checkOwnHandler(desk, one) {
  const { reports } = await ask(desk, one, 'reports', {});
  if (!reports[one.instance.instanceId]?.ownsUsr1) return;
  throw refusal(one, 'does not answer, and takes SIGUSR1 itself, with which Node would let a debugger in', `See: gdb -p ${one.instance.pid}`);
}

/**
 * @param {Worker} one
 * @param {string} what
 * @param {string} hint
 */
function refusal({ id, name }, what, hint) {
  return new NclustError('ERR_NCLUST_NOT_REACHABLE', `"${name}" (id ${id}) ${what}.`, { hint, data: { id, name } });
}
