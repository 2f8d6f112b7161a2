// What control may ask about the place of an instance in the rotation. Its agent does it; the fact is the keeper's.
import { answered, living as livingOf } from './questions.js';

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
  const living = (instanceId) => livingOf(known, instanceId);

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
