// Reads the arguments of listen() as lib/net.js does.
'use strict';

/**
 * Returns the kind of address. null: Node.js handles this call without the agent: handles and file
 * descriptors, abstract sockets, paths with `exclusive` or `reusePort`, bad arguments, and
 * `reusePort` before Node.js 22.12.
 * @param {any[]} args
 * @param {any} options
 */
function readKind(args, options) {
  const { path, fd, _handle, handle, port } = options;
  if (fd !== undefined || 'fd' in options || _handle || handle) return null;
  if (path !== undefined) return isPath(options) && !isAlone(options) ? 'pipe' : null;
  if (options.reusePort && !knowsReusePort()) return null;
  if (isAnyPort(args, options)) return 'tcp';
  if (typeof port !== 'number' && (typeof port !== 'string' || port.trim() === '')) return null;
  return Number.isInteger(Number(port)) && Number(port) >= 0 && Number(port) <= 65535 ? 'tcp' : null;
}

/**
 * False for an abstract socket, because its name (with a NUL) is not a path.
 * @param {any} options
 */
function isPath({ path }) {
  return typeof path === 'string' && path !== '' && !path.includes('\0');
}

/** @param {any} options */
function isAlone({ exclusive, reusePort }) {
  return Boolean(exclusive || reusePort);
}

function knowsReusePort() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 12);
}

/**
 * Whether the system chooses the port, for example in listen(), listen(callback), listen(undefined,
 * host) and listen({ port: undefined }).
 * @param {any[]} args
 * @param {any} options
 */
function isAnyPort(args, { port }) {
  return (
    args.length === 0 ||
    typeof args[0] === 'function' ||
    port === null ||
    (port === undefined && (typeof args[0] !== 'object' || args[0] === null || 'port' in args[0]))
  );
}

/**
 * @param {any[]} args
 * @param {any} options
 */
function readPort(args, options) {
  return isAnyPort(args, options) ? 0 : Number(options.port);
}

/**
 * @param {any[]} args
 * @param {any} options
 * @returns {number | undefined}
 */
function readBacklog(args, options) {
  return options.backlog ?? [args[1], args[2]].find((one) => typeof one === 'number');
}

module.exports = { readKind, isAlone, readPort, readBacklog };
