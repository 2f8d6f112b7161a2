// What control asks about an instance that only a living one can answer.
import { createDeadline } from './deadline.js';
import { KeeperError } from './protocol.js';

/**
 * @typedef {import('./child.js').Child} Child
 */

/**
 * @param {(instanceId: string) => Promise<Child>} known  Rejects with ESRCH.
 * @param {string} instanceId
 * @returns {Promise<Child>}  Rejects with ESRCH when it has ended.
 */
export async function living(known, instanceId) {
  const child = await known(instanceId);
  if (child.exit) throw new KeeperError('ESRCH', `instance ${instanceId} has ended`);
  return child;
}

/**
 * @param {Child} child
 * @param {{ act: string, [key: string]: unknown }} question
 * @param {number} [timeoutMs]  Default: as long as it lives.
 * @returns {Promise<Record<string, any> | undefined>}  Resolves at once, with nothing, where there is no agent. One that has not said its first word yet will
 *   read the question when it has. Rejects with ETIMEDOUT, or ESRCH when it ends.
 */
export async function answered(child, question, timeoutMs) {
  const deadline = timeoutMs === undefined ? null : createDeadline(timeoutMs);
  try {
    return await new Promise((resolve, reject) => {
      /** @param {Record<string, any>} answer */
      const onAnswer = (answer) => (answer.refusal ? reject(new KeeperError(answer.refusal.code, answer.refusal.message)) : resolve(answer));
      if (child.mode === 'exec' || !child.ask(question, onAnswer)) return resolve(undefined);
      void child.exited.then(() => reject(new KeeperError('ESRCH', `instance ${child.instanceId} has ended`)));
      void deadline?.passed.then(() => reject(new KeeperError('ETIMEDOUT', `instance ${child.instanceId} did not answer within ${timeoutMs} ms`)));
    });
  } finally {
    deadline?.clear();
  }
}
