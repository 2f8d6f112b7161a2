/** @typedef {import('../client/client.js').Client} Client */

const PAUSE_MS = 5_000;

/** Each of these questions has 10 s of its own, and a control that hangs may be ended and replaced in that time. */
const UNANSWERED = 3;

/**
 * Asks the manager now and then whether it is there, while something is waited for that may take as long as it needs.
 * @param {Pick<Client, 'request'>} client
 * @param {AbortSignal} over  Ends the asking.
 * @returns {Promise<never>}  Rejects with ERR_NCLUST_DAEMON_UNREACHABLE after half a minute without an answer. Never settles otherwise.
 */
export function untilItHangs(client, over) {
  return new Promise((_, reject) => {
    let unanswered = 0;
    /** @type {NodeJS.Timeout} */
    let timer;
    const later = () => {
      if (!over.aborted) timer = setTimeout(ask, PAUSE_MS);
    };
    const ask = () => {
      client.request('hello').then(() => {
        unanswered = 0;
        later();
      }, (error) => {
        unanswered += 1;
        // A connection that cannot be made again ends what is waited for as well.
        if (unanswered < UNANSWERED) later();
        else reject(error);
      });
    };
    over.addEventListener('abort', () => clearTimeout(timer), { once: true });
    later();
  });
}
