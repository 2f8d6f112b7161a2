import { formatAddress } from '../../../lib/shared/address.js';
import { TICK_MS } from '../../../lib/shared/metrics.js';
import { createSerial } from '../../../lib/shared/serial.js';
import { isTooFar, remoteNotice, unservedNotice } from '../../../lib/shared/settings/listen-address.js';
import { shortNotice } from '../../../lib/shared/without-secrets.js';

/** @import { Trouble } from '../../../lib/shared/troubles.js' */
/** @import { Unserved } from '../../../lib/shared/settings/listen-address.js' */
/** @import { ManagerLog, MetricsSettings } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { Family } from './families.js' */
/** @import { Metrics } from './metrics.js' */
/** @import { OtlpSender } from './otlp.js' */

/** Ticks between two attempts to listen on an address. */
const RETRY_TICKS = 5;

/**
 * Metrics for other programs. The code of an export is loaded only if a setting enables the export.
 * @typedef {object} Exports
 * @property {() => Promise<Unserved | null>} applyNow
 *   Serves /metrics now. Null: /metrics is served, or the settings switch it off or do not allow
 *   the address. Never rejects.
 * @property {() => string[]} notices
 * @property {() => Promise<void>} close
 */

/**
 * @typedef {{ key: string, close: () => Promise<void>, reason: string | null, retryIn: number }} Outlet
 *   `reason`: why the server could not listen.
 */

/**
 * @param {object} o
 * @param {Pick<Metrics, 'exported' | 'onTick'>} o.metrics
 * @param {() => Trouble[]} o.troubles
 * @param {() => MetricsSettings} o.settings
 * @param {Clock} o.clock
 * @param {ManagerLog} o.managerLog
 * @param {string} o.version
 * @returns {Exports}
 */
export function createExports({ metrics, troubles, settings, clock, managerLog, version }) {
  /** @type {Outlet | null} */
  let server = null;
  /** @type {(OtlpSender & { url: string, sentAtMs: number }) | null} */
  let sender = null;
  let isBusy = false;
  /** A client that changed a setting must not get the result of an older setting. */
  const inTurn = createSerial();
  let isClosed = false;

  /** @returns {Promise<Family[]>} */
  async function collect() {
    const { buildFamilies } = await import('./families.js');
    return buildFamilies(await metrics.exported(), troubles(), version);
  }

  async function syncServer() {
    const { listen, allowRemote } = settings();
    if (isClosed || (listen.kind === 'none' && server === null)) return;
    const key = JSON.stringify([listen, allowRemote]);
    if (server?.key === key && (server.reason === null || --server.retryIn > 0)) return;
    await server?.close();
    const outlet = { key, close: async () => {}, reason: /** @type {string | null} */ (null), retryIn: RETRY_TICKS };
    server = outlet;
    if (listen.kind === 'none' || isTooFar(listen, allowRemote)) return;
    try {
      const { serveMetrics } = await import('./prometheus.js');
      outlet.close = await serveMetrics(listen, collect, reportFailure);
      managerLog('metrics-served', { listen });
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      outlet.reason = code ?? message;
    }
  }

  /**
   * @param {string} url
   * @param {number} intervalMs
   */
  async function syncSender(url, intervalMs) {
    if (sender && sender.url !== url) {
      sender.close();
      sender = null;
    }
    if (url === 'none') return;
    const { createOtlpSender, toOtlp } = await import('./otlp.js');
    sender ??= { ...createOtlpSender(url), url, sentAtMs: -Infinity };
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - sender.sentAtMs) < intervalMs) return;
    sender.sentAtMs = nowMs;
    void sender.send(JSON.stringify(toOtlp(await collect(), { version, atMs: nowMs })));
  }

  async function look() {
    if (isBusy || isClosed) return;
    const { listen, otlp, otlpIntervalMs } = settings();
    if (listen.kind === 'none' && otlp === 'none' && server === null && sender === null) return;
    isBusy = true;
    try {
      await inTurn(syncServer);
      await syncSender(otlp, otlpIntervalMs);
    } catch (error) {
      reportFailure(error);
    } finally {
      isBusy = false;
    }
  }

  async function applyNow() {
    await inTurn(() => {
      if (server) server.retryIn = 0;
      return syncServer();
    }).catch(reportFailure);
    return server?.reason ? { reason: server.reason, retryMs: RETRY_TICKS * TICK_MS } : null;
  }

  /** @param {unknown} error */
  function reportFailure(error) {
    managerLog('metrics-export-failed', { message: shortNotice(/** @type {Error} */ (error).message) });
  }

  const end = metrics.onTick(() => void look());
  return {
    applyNow,
    notices() {
      const notices = serverNotice(settings(), server?.reason ?? null);
      const problem = sender?.problem();
      if (!sender || !problem) return notices;
      const lost = sender.lost() > 0 ? `; ${sender.lost()} exports are lost` : '';
      return [...notices, `Metrics do not arrive at "${sender.url}": ${problem}${lost}.`];
    },
    async close() {
      isClosed = true;
      end();
      sender?.close();
      await inTurn(async () => server?.close());
    },
  };
}

/**
 * @param {MetricsSettings} settings
 * @param {string | null} reason
 */
function serverNotice({ listen, allowRemote }, reason) {
  if (listen.kind === 'none') return [];
  const where = listen.kind === 'tcp' ? formatAddress(listen) : listen.path;
  const what = '/metrics';
  if (isTooFar(listen, allowRemote)) return [remoteNotice({ what, where, setting: 'metrics.allow_remote' })];
  const another = listen.kind === 'tcp' ? where.replace(/\d+$/, 'PORT') : 'unix:PATH';
  const instead = `nclust set metrics.listen ${another}`;
  return reason === null ? [] : [unservedNotice({ what, where, reason, instead })];
}
