import { isLocal } from '../../../lib/shared/metrics-target.js';

/** @import { ListenTarget } from '../../../lib/shared/metrics-target.js' */
/** @import { Family } from './families.js' */
/** @import { Exported, Metrics } from './metrics.js' */

/** An address that could not be had is tried again, in ticks. */
const RETRY_TICKS = 5;

/**
 * Metrics for other programs, where the settings say so. Without that nothing of it is even loaded.
 * @typedef {object} Exports
 * @property {() => string[]} notices  For people: what does not work.
 * @property {() => Promise<void>} close
 */

/** @typedef {{key: string, close: () => Promise<void>, problem: string|null, retryIn: number}} Outlet */

/**
 * @param {object} o
 * @param {Pick<Metrics, 'exported'|'onTick'>} o.metrics
 * @param {() => import('../settings.js').MetricsSettings} o.settings
 * @param {import('../clock.js').Clock} o.clock
 * @param {import('../journal.js').Journal} o.journal
 * @param {string} o.version
 * @returns {Exports}
 */
export function createExports({ metrics, settings, clock, journal, version }) {
  /** @type {Outlet|null} */
  let server = null;
  /** @type {(import('./otlp-sender.js').OtlpSender & {url: string, sentAtMs: number})|null} */
  let sender = null;
  let isBusy = false;
  let isClosed = false;

  /** @returns {Promise<Family[]>} */
  async function collect() {
    const { familiesOf } = await import('./families.js');
    return familiesOf(await metrics.exported(), version);
  }

  /** @param {ListenTarget} listen @param {boolean} allowRemote */
  async function settleServer(listen, allowRemote) {
    const key = JSON.stringify([listen, allowRemote]);
    if (server?.key === key && (server.problem === null || --server.retryIn > 0)) return;
    await server?.close();
    const outlet = { key, close: async () => {}, problem: /** @type {string|null} */ (null), retryIn: RETRY_TICKS };
    server = outlet;
    if (listen.kind === 'none') return;
    if (!isLocal(listen) && !allowRemote) {
      outlet.problem = 'others could reach that address; to allow it: nclust set metrics.allow_remote true';
      return;
    }
    try {
      const { serveMetrics } = await import('./scrape-server.js');
      outlet.close = await serveMetrics(listen, collect);
      journal('metrics-served', { listen });
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      outlet.problem = code ?? message;
    }
  }

  /** @param {string} url @param {number} intervalMs */
  async function settleSender(url, intervalMs) {
    if (sender && sender.url !== url) {
      sender.close();
      sender = null;
    }
    if (url === 'none') return;
    const { createOtlpSender } = await import('./otlp-sender.js');
    sender ??= { ...createOtlpSender(url), url, sentAtMs: -Infinity };
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - sender.sentAtMs) < intervalMs) return;
    sender.sentAtMs = nowMs;
    const { otlpOf } = await import('./otlp.js');
    void sender.send(JSON.stringify(otlpOf(await collect(), { version, atMs: nowMs })));
  }

  async function look() {
    if (isBusy || isClosed) return;
    const { listen, allowRemote, otlp, otlpIntervalMs } = settings();
    if (listen.kind === 'none' && otlp === 'none' && server === null && sender === null) return;
    isBusy = true;
    try {
      await settleServer(listen, allowRemote);
      await settleSender(otlp, otlpIntervalMs);
    } catch (error) {
      journal('metrics-export-failed', { message: /** @type {Error} */ (error).message });
    } finally {
      isBusy = false;
    }
  }

  const end = metrics.onTick(() => void look());
  return {
    notices() {
      const { listen } = settings();
      const problem = sender?.problem();
      const where = listen.kind === 'tcp' ? `${listen.host}:${listen.port}` : listen.kind === 'unix' ? listen.path : '';
      return [
        ...(server?.problem ? [`/metrics is not served on "${where}": ${server.problem}.`] : []),
        ...(sender && problem ? [`Metrics do not arrive at "${sender.url}": ${problem}${sender.lost() > 0 ? `; ${sender.lost()} exports are lost` : ''}.`] : []),
      ];
    },
    async close() {
      isClosed = true;
      end();
      sender?.close();
      await server?.close();
    },
  };
}
