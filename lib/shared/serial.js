/**
 * Runs work one after the other, also after work that failed.
 * @returns {<T>(work: () => Promise<T> | T) => Promise<T>}  Settles like `work`. The caller gets
 *   the error.
 */
export function createSerial() {
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => {}); // The caller gets the error.
    return done;
  };
}
