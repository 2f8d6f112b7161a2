import { isIP } from 'node:net';

/**
 * @typedef {{ kind: 'none' }
 *   | { kind: 'tcp', host: string, port: number }
 *   | { kind: 'unix', path: string }} ListenTarget
 */

export const LISTEN_FORMS = 'none, an address and a port (127.0.0.1:9615, [::1]:9615), or unix:/path';
export const OTLP_FORMS = 'none, or the http:// or https:// address of a collector (http://127.0.0.1:4318)';

/**
 * @param {string} text
 * @returns {ListenTarget | null}
 */
export function parseListen(text) {
  if (text === 'none') return { kind: 'none' };
  if (text.startsWith('unix:'))
    return text.length <= 'unix:'.length + 100 && text[5] === '/' ? { kind: 'unix', path: text.slice(5) } : null;
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s/]+)):(\d{1,5})$/i.exec(text);
  if (!match) return null;
  const host = match[1] ?? match[2];
  const port = Number(match[3]);
  const isHost = match[1] ? isIP(host) === 6 : isIP(host) === 4 || host === 'localhost';
  return isHost && port > 0 && port <= 65_535 ? { kind: 'tcp', host, port } : null;
}

/**
 * @param {ListenTarget} target
 * @returns {boolean}
 */
export function isLocal(target) {
  return (
    target.kind !== 'tcp' || target.host === 'localhost' || target.host === '::1' || target.host.startsWith('127.')
  );
}

/**
 * @param {ListenTarget} target
 * @param {boolean} allowRemote
 */
export function isTooFar(target, allowRemote) {
  return !isLocal(target) && !allowRemote;
}

/**
 * @param {string} text
 * @returns {string | null}
 */
export function parseOtlp(text) {
  if (text === 'none') return 'none';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.search !== '' || url.hash !== '')
    return null;
  // Adds the usual path if the URL has no path. A URL with a path stays unchanged, as with
  // OTEL_EXPORTER_OTLP_METRICS_ENDPOINT.
  if (url.pathname === '/') url.pathname = '/v1/metrics';
  return url.href;
}

/** @typedef {{ host: string, port: number }} WebAddress */
/** @typedef {{ kind: 'none' } | { kind: 'tcp', host: string, port: number }} WebTarget */

export const WEB_HOST = '127.0.0.1';
export const WEB_PORT = 9616;

export const WEB_TARGET_FORMS = 'none, or an address and a port (127.0.0.1:9616, [::1]:9616)';
export const WEB_LISTEN_FORMS =
  'a port (9616; 0 is any free one), or an address and a port (127.0.0.1:9616, [::1]:9616)';

/**
 * Reads an address of the settings.
 * @param {string} text
 * @returns {WebTarget | null}  Null: the text is invalid, or a Unix socket.
 */
export function parseWebTarget(text) {
  const target = parseListen(text);
  return target?.kind === 'unix' ? null : target;
}

/**
 * Reads an address that a user types. A port alone is enough.
 * @param {string} text
 * @returns {WebAddress | null}  Null: not a TCP address. Port 0: any free port.
 */
export function parseWebListen(text) {
  const whole = /^\d{1,5}$/.test(text) ? `${WEB_HOST}:${text}` : text;
  const isAny = /:0+$/.test(whole);
  const target = parseWebTarget(isAny ? whole.replace(/0+$/, '1') : whole);
  return target?.kind === 'tcp' ? { host: target.host, port: isAny ? 0 : target.port } : null;
}

/** @param {WebAddress} address */
export function isLoopback({ host, port }) {
  return isLocal({ kind: 'tcp', host, port });
}

/**
 * An address of the settings that cannot be used.
 * @typedef {object} Unserved
 * @property {string} reason  A system error code, or the text of another error.
 * @property {number} retryMs
 */

/** @type {Record<string, string>} */
const WORDS = { EADDRINUSE: 'another program has this address', EADDRNOTAVAIL: 'this machine has no such address' };

/**
 * @param {string} reason
 * @returns {string}
 */
export function explainUnserved(reason) {
  return Object.hasOwn(WORDS, reason) ? WORDS[reason] : reason;
}

/**
 * The notice below the list of apps.
 * @param {{ what: string, where: string, reason: string, instead: string }} o
 */
export function unservedNotice({ what, where, reason, instead }) {
  const words = explainUnserved(reason);
  return (
    `${what} is not served on "${where}": ${words}${words === reason ? '' : ` (${reason})`}. ` +
    `nclust keeps trying. For another address: ${instead}`
  );
}

/**
 * The notice about an address that the settings do not allow.
 * @param {{ what: string, where: string, setting: string }} o
 */
export function remoteNotice({ what, where, setting }) {
  return (
    `${what} is not served on "${where}": other machines could reach that address; to allow this, ` +
    `run: nclust set ${setting} true.`
  );
}

/**
 * The sentence for a user who has just set the address.
 * @param {Unserved} unserved
 */
export function unservedSentence({ reason, retryMs }) {
  return (
    `It is not served yet: ${explainUnserved(reason)}. nclust tries again every ` +
    `${retryMs === 1_000 ? 'second' : `${retryMs / 1_000} seconds`}.`
  );
}
