/** Limits the memory, because each target has its own buffer. */
export const SHIP_TARGETS_MAX = 8;

export const SHIP_TARGET_FORMS =
  '"syslog+udp://host:port", "syslog+tcp://host:port", "syslog+unix:///path" or "exec:command"; the first ' +
  'three may end in "?facility=local0"';

/** The index of a facility is its number in RFC 5424, 6.2.1. */
const FACILITIES = (
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock ' +
  'local0 local1 local2 local3 local4 local5 local6 local7'
).split(' ');

/**
 * @typedef {{ kind: 'udp' | 'tcp', host: string, port: number, facility: number }
 *   | { kind: 'unix', path: string, facility: number }
 *   | { kind: 'exec', command: string }} ShipTarget
 */

/**
 * @param {string} text
 * @returns {ShipTarget | null}
 */
export function parseShipTarget(text) {
  const [, kind, rest] = /^(?:syslog\+)?(udp|tcp|unix|exec):(.+)$/s.exec(text) ?? [];
  if (kind === 'exec') return text.startsWith('exec:') && rest.trim() !== '' ? { kind, command: rest } : null;
  if (!kind || !text.startsWith('syslog+') || !rest.startsWith('//')) return null;
  const [, place, name] = /^\/\/([^?#]+)(?:\?facility=([a-z\d]+))?$/.exec(rest) ?? [];
  const facility = FACILITIES.indexOf(name ?? 'user');
  if (!place || facility === -1) return null;
  if (kind === 'unix') return place.startsWith('/') ? { kind, path: place, facility } : null;
  const [, inBrackets, plain, digits] = /^(?:\[([\da-f:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/i.exec(place) ?? [];
  const port = Number(digits);
  return port >= 1 && port <= 65_535
    ? { kind: /** @type {'udp' | 'tcp'} */ (kind), host: inBrackets ?? plain, port, facility }
    : null;
}
