import { hostname } from 'node:os';
import { chooseActor } from '../../../../lib/shared/host/as-user.js';
import { createSyslogMessage, printable, toPriority } from './syslog-message.js';
import { createProcessLink, createStreamLink, createUdpLink } from './transports.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { ShipTarget } from '../../../../lib/app-spec/ship-target.js' */
/** @import { ShippedLine } from './backlog.js' */
/** @import { Link, LinkParts } from './transports.js' */

/** Error of connect(2) for a Unix socket that accepts only datagrams, as /dev/log often does. */
const DATAGRAMS_ONLY = 'EPROTOTYPE';

/** @typedef {(parts: LinkParts) => Link} Connect */

/**
 * @param {ShipTarget} target
 * @param {string} name  The app's name.
 * @param {() => User | null} userNow  The user of the app, at each connect.
 * @returns {Connect}
 */
export function chooseConnector(target, name, userNow) {
  if (target.kind === 'exec')
    return (parts) =>
      createProcessLink(
        { file: '/bin/sh', args: ['-c', target.command], env: { ...process.env, name }, user: null },
        ({ line }) => line,
        parts,
      );
  const message = createSyslogMessage({ facility: target.facility, hostname: hostname(), name });
  if (target.kind === 'udp') return (parts) => createUdpLink(target, message, parts);
  if (target.kind === 'unix')
    return (parts) => connectToUnix(target, { name, user: userNow() }, (line) => `${message(line)}\n`, parts);
  return (parts) =>
    createStreamLink({ host: target.host, port: target.port }, (line) => octetCounted(message(line)), parts);
}

/**
 * RFC 6587, 3.4.1: the length comes first, because a line may contain any characters.
 * @param {string} message
 */
function octetCounted(message) {
  return `${Buffer.byteLength(message)} ${message}`;
}

/**
 * If the socket accepts only datagrams, sends with logger(1), which every Linux has. Node.js has no
 * Unix datagram sockets.
 * @param {{ path: string, facility: number }} target
 * @param {{ name: string, user: User | null }} app
 * @param {(line: ShippedLine) => string} frame
 * @param {LinkParts} parts
 * @returns {Link}
 */
function connectToUnix({ path, facility }, { name, user }, frame, parts) {
  const actor = chooseActor(user, path);
  const logger = {
    file: 'logger',
    args: ['--socket', path, '--tag', printable(name, 32), '--size', '65536', '--prio-prefix'],
    env: { PATH: process.env.PATH, TZ: process.env.TZ },
    user: actor,
  };
  let link = createStreamLink({ path, user: actor }, frame, {
    ...parts,
    events: {
      ...parts.events,
      onDown(reason) {
        if (reason === DATAGRAMS_ONLY)
          link = createProcessLink(logger, ({ line, stream }) => `<${toPriority(facility, stream)}>${line}`, parts);
        else parts.events.onDown(reason);
      },
    },
  });
  return { write: (lines) => link.write(lines), close: (graceMs) => link.close(graceMs) };
}
