import { isIP } from 'node:net';

/** Where /metrics is served. @typedef {{kind: 'none'} | {kind: 'tcp', host: string, port: number} | {kind: 'unix', path: string}} ListenTarget */

export const LISTEN_FORMS = 'none, an address and a port (127.0.0.1:9615, [::1]:9615), or unix:/path';
export const OTLP_FORMS = 'none, or the http:// or https:// address of a collector (http://127.0.0.1:4318)';

/**
 * @param {string} text
 * @returns {ListenTarget|null}  Null when it is none.
 */
export function parseListen(text) {
  if (text === 'none') return { kind: 'none' };
  if (text.startsWith('unix:')) return text.length <= 'unix:'.length + 100 && text[5] === '/' ? { kind: 'unix', path: text.slice(5) } : null;
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s/]+)):(\d{1,5})$/i.exec(text);
  if (!match) return null;
  const host = match[1] ?? match[2];
  const port = Number(match[3]);
  const isHost = match[1] ? isIP(host) === 6 : isIP(host) === 4 || host === 'localhost';
  return isHost && port > 0 && port <= 65_535 ? { kind: 'tcp', host, port } : null;
}

/**
 * @param {ListenTarget} target
 * @returns {boolean}  Whether only this machine can reach it.
 */
export function isLocal(target) {
  return target.kind !== 'tcp' || target.host === 'localhost' || target.host === '::1' || target.host.startsWith('127.');
}

/**
 * @param {string} text
 * @returns {string|null}  The address that metrics are sent to, or 'none'. Null when it is neither.
 */
export function parseOtlp(text) {
  if (text === 'none') return 'none';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.search !== '' || url.hash !== '') return null;
  // A path of its own is taken as it is: OTEL_EXPORTER_OTLP_METRICS_ENDPOINT does so, too.
  if (url.pathname === '/') url.pathname = '/v1/metrics';
  return url.href;
}
