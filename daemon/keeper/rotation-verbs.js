// What control may ask about the place of an instance in the rotation. Its agent does it; the fact is the keeper's.
import { createDeadline } from './deadline.js';
import { KeeperError } from './protocol.js';

/**
 * @typedef {import('./child.js').Child} Child
 */

/**
 * @param {object} o
 * @param {(instanceId: string) => Promise<Child>} o.known  Rejects with ESRCH.
 * @param {(child: Child) => void} o.onChanged  It entered the rotation, or left it.
 * @returns {Record<string, import('./control-link.js').Verb>}
 */
export function inRotation({ known, onChanged }) {
  /** @param {string} instanceId */
  const living = async (instanceId) => {
    const child = await known(instanceId);
    if (child.exit) throw new KeeperError('ESRCH', `instance ${instanceId} has ended`);
    return child;
  };

  return {
    async admit({ instanceId }) {
      const child = await living(instanceId);
      await answered(child, { act: 'admit' });
      child.isGated = false;
      onChanged(child);
    },
    async park({ instanceId }) {
      const child = await living(instanceId);
      child.isParked = true;
      onChanged(child);
      child.tell({ act: 'park' });
    },
    async unpark({ instanceId }) {
      const child = await living(instanceId);
      await answered(child, { act: 'unpark' });
      child.isParked = false;
      onChanged(child);
    },
    async ask({ instanceId, timeoutMs }) {
      await answered(await living(instanceId), { act: 'ask' }, timeoutMs);
    },
    async watch({ instanceId, everyMs }) {
      (await living(instanceId)).tell({ act: 'watch', everyMs });
    },
  };
}

/**
 * @param {Child} child
 * @param {{ act: string }} question
 * @param {number} [timeoutMs]  Default: as long as it lives.
 * @returns {Promise<void>}  Resolves at once where there is no agent. One that has not said its first word yet will read the question when it has.
 *   Rejects with ETIMEDOUT, or ESRCH when it ends.
 */
async function answered(child, question, timeoutMs) {
  const deadline = timeoutMs === undefined ? null : createDeadline(timeoutMs);
  try {
    await new Promise((resolve, reject) => {
      /** @param {Record<string, any>} answer */
      const onAnswer = ({ refusal }) => (refusal ? reject(new KeeperError(refusal.code, refusal.message)) : resolve(undefined));
      if (child.mode === 'exec' || !child.ask(question, onAnswer)) return resolve(undefined);
      void child.exited.then(() => reject(new KeeperError('ESRCH', `instance ${child.instanceId} has ended`)));
      void deadline?.passed.then(() => reject(new KeeperError('ETIMEDOUT', `instance ${child.instanceId} did not answer within ${timeoutMs} ms`)));
    });
  } finally {
    deadline?.clear();
  }
}
