/** @import { ShippedLine } from './backlog.js' */

/** Severities of RFC 5424, 6.2.1: informational and error. */
const SEVERITY = { out: 6, err: 3 };

const MSGID = { out: 'stdout', err: 'stderr' };

const HOSTNAME_MAX = 255;
const APP_NAME_MAX = 48;

/** @typedef {(line: ShippedLine) => string} SyslogFormatter  Formats by RFC 5424. */

/**
 * APP-NAME is the app, PROCID the id of the slot. The stream determines severity and MSGID.
 * @param {{ facility: number, hostname: string, name: string }} o
 * @returns {SyslogFormatter}
 */
export function createSyslogMessage({ facility, hostname, name }) {
  const from = `${printable(hostname, HOSTNAME_MAX)} ${printable(name, APP_NAME_MAX)}`;
  let lastMs = NaN;
  let timestamp = '';
  return ({ line, stream, atMs, id }) => {
    if (atMs !== lastMs) timestamp = new Date(atMs).toISOString();
    lastMs = atMs;
    return `<${toPriority(facility, stream)}>1 ${timestamp} ${from} ${id} ${MSGID[stream]} - ${line}`;
  };
}

/**
 * @param {number} facility
 * @param {keyof typeof SEVERITY} stream
 */
export function toPriority(facility, stream) {
  return facility * 8 + SEVERITY[stream];
}

/**
 * Fields of the header contain printable ASCII without spaces; "-" stands for an empty field.
 * @param {string} text
 * @param {number} max
 */
export function printable(text, max) {
  return text.replace(/[^\u0021-\u007e]/g, '_').slice(0, max) || '-';
}
