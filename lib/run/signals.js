/** Ctrl-C in a container comes twice, from the terminal and from the shell that is its first process; what comes within so many ms is one. */
const TWICE_MS = 300;

export const STOPPING = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGQUIT']);

/**
 * What is to be done when this process is told something.
 * @typedef {object} Reactions
 * @property {(signal: string) => void} onStop  The first request to end.
 * @property {(signal: string) => void} onHurry  Each one after that.
 * @property {() => void} onReload
 * @property {() => void} onReopen
 */

/**
 * @param {Pick<NodeJS.Process, 'on'|'removeAllListeners'>} source  Its listeners so far were for a process that has not started anything.
 * @param {Reactions} reactions
 * @param {() => number} [nowMono]  In ms.
 */
export function listenToSignals(source, { onStop, onHurry, onReload, onReopen }, nowMono = () => performance.now()) {
  let lastMono = -Infinity;
  let hasStopped = false;
  for (const signal of STOPPING) {
    source.removeAllListeners(signal);
    source.on(signal, () => {
      if (nowMono() - lastMono < TWICE_MS) return;
      lastMono = nowMono();
      if (hasStopped) return onHurry(signal);
      hasStopped = true;
      onStop(signal);
    });
  }
  source.on('SIGHUP', onReload);
  source.on('SIGUSR2', onReopen);
}
