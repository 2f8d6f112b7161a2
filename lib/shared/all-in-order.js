/**
 * Like Promise.all(), but the error does not depend on timing.
 * @template T
 * @param {readonly Promise<T>[]} promises
 * @returns {Promise<T[]>}  Rejects after all promises have settled, with the error of the first
 *   rejected promise in the list.
 */
export async function allInOrder(promises) {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
