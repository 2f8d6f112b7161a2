import { NclustError } from '../shared/errors.js';

/** @typedef {import('../client/client.js').Client} Client */
/** @typedef {import('../shared/wire/protocol.js').Method} Method */

/**
 * Asks the manager for a change and waits for it, unless `params.wait` is false. On a terminal it shows how far it is. Ctrl-C ends the waiting, and
 * not the change.
 * @param {import('./context.js').Context} context
 * @param {Client} client
 * @param {Method} method
 * @param {Record<string, unknown> & {token: string}} params
 * @param {string} doing  "Reloading api": what is shown, and said when the waiting is cut short.
 * @returns {Promise<any>}  The result. Rejects with the server's NclustError or ERR_NCLUST_INTERRUPTED.
 */
export async function carryOut(context, client, method, params, doing) {
  if (params.wait === false) return client.request(method, params);
  const board = context.screen ? (await import('./board.js')).createBoard(context.screen, doing) : null;
  const ignore = client.onNotification(({ method: word, params: said }) => {
    if (word === 'progress' && said?.token === params.token) board?.show(/** @type {import('../shared/wire/protocol.js').Progress} */ (/** @type {unknown} */ (said)));
  });
  /** @type {(error: Error) => void} */
  let interrupt = () => {};
  /** @type {Promise<never>} */
  const interrupted = new Promise((_, reject) => { interrupt = reject; });
  const release = context.onInterrupt(() => interrupt(goesOn(doing)));
  try {
    return await Promise.race([client.request(method, board ? { ...params, progress: true } : params), interrupted]);
  } finally {
    release();
    ignore();
    board?.close();
  }
}

/** @param {string} doing */
function goesOn(doing) {
  return new NclustError('ERR_NCLUST_INTERRUPTED', `${doing} goes on in the manager; "nclust list" shows how far it is.`);
}
