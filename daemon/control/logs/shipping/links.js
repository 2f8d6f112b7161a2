import { hostname } from 'node:os';
import { actorAt } from '../../../../lib/shared/host/as-user.js';
import { createSyslogMessage, printable, priorityOf } from './syslog-message.js';
import { createProcessLink, createStreamLink, createUdpLink } from './transports.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { ShipTarget } from '../../../../lib/shared/spec/logs.js' */
/** @import { ShippedLine } from './backlog.js' */
/** @import { Link, LinkParts } from './transports.js' */

/** What connect(2) says of a Unix socket that takes datagrams, as /dev/log mostly does. */
const DATAGRAMS_ONLY = 'EPROTOTYPE';

/**
 * Connects to a target.
 * @typedef {(parts: LinkParts) => Link} Connect
 */

/**
 * @param {ShipTarget} target
 * @param {string} name  Of the app.
 * @param {() => User | null} userNow  Of the app, whenever it connects.
 * @returns {Connect}
 */
export function connectorFor(target, name, userNow) {
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
 * RFC 6587, 3.4.1: a line may hold anything.
 * @param {string} message
 */
function octetCounted(message) {
  return `${Buffer.byteLength(message)} ${message}`;
}

/**
 * Node.js has no datagrams over Unix sockets. logger(1), which is part of every Linux, has; and it
 * knows the form in which local daemons expect them.
 * @param {{ path: string, facility: number }} target
 * @param {{ name: string, user: User | null }} app
 * @param {(line: ShippedLine) => string} frame
 * @param {LinkParts} parts
 * @returns {Link}
 */
function connectToUnix({ path, facility }, { name, user }, frame, parts) {
  const actor = actorAt(user, path);
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
          link = createProcessLink(logger, ({ line, stream }) => `<${priorityOf(facility, stream)}>${line}`, parts);
        else parts.events.onDown(reason);
      },
    },
  });
  return { write: (lines) => link.write(lines), close: (graceMs) => link.close(graceMs) };
}
