import { isLocal, parseListen } from './listen-address.js';

/** Where the dashboard is served. @typedef {{host: string, port: number}} WebAddress */
/** @typedef {{kind: 'none'} | {kind: 'tcp', host: string, port: number}} WebTarget */

/** Where it is served when nothing is said. */
export const WEB_HOST = '127.0.0.1';
export const WEB_PORT = 9616;

export const WEB_TARGET_FORMS = 'none, or an address and a port (127.0.0.1:9616, [::1]:9616)';
export const WEB_LISTEN_FORMS = 'a port (9616; 0 is any that is free), or an address and a port (127.0.0.1:9616, [::1]:9616)';

/**
 * As it stands in the settings.
 * @param {string} text
 * @returns {WebTarget|null}  Null when it is none.
 */
export function parseWebTarget(text) {
  const target = parseListen(text);
  return target?.kind === 'unix' ? null : target;
}

/**
 * As a person writes it.
 * @param {string} text
 * @returns {WebAddress|null}  Null when it is none. Port 0: any that is free.
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

/** @param {WebAddress} address @returns {string}  As it stands in an address. */
export function writeWebAddress({ host, port }) {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
