/**
 * Promise.all whose error does not depend on timing.
 * @template T
 * @param {readonly Promise<T>[]} promises
 * @returns {Promise<T[]>}  Rejects with the reason of the first in order, after all have settled.
 */
export async function allInOrder(promises) {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
