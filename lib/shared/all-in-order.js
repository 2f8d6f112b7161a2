/**
 * Promise.all whose error does not depend on timing.
 * @template T
 * @param {readonly Promise<T>[]} promises
 * @returns {Promise<T[]>}  Settles when all promises have settled; rejects with the reason of the
 *   first in order.
 */
export async function allInOrder(promises) {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
