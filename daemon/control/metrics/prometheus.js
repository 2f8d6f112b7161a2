import { lstatSync, renameSync, rmSync } from 'node:fs';
import { connect, isIP } from 'node:net';
import { listenPrivately } from '../../../lib/shared/daemon/listen-privately.js';
import { closeServer, createGuardedServer, listenExclusively } from '../../../lib/shared/guarded-server.js';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { ListenTarget } from '../../../lib/shared/settings/listen-address.js' */
/** @import { Family, Point } from './families.js' */

/** The two formats of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/ */
const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/**
 * @param {Family[]} families
 * @param {boolean} isOpenMetrics
 */
export function expose(families, isOpenMetrics) {
  const lines = families.flatMap((family) => {
    // In OpenMetrics, only the sample of a counter has the ending `_total`, not its family.
    const name = family.type === 'counter' && !isOpenMetrics ? `${family.name}_total` : family.name;
    return [
      `# HELP ${name} ${escapeHelp(family.help, isOpenMetrics)}`,
      `# TYPE ${name} ${family.type}`,
      ...(isOpenMetrics && family.unit !== '' ? [`# UNIT ${name} ${family.unit}`] : []),
      ...family.points.flatMap((point) => formatSamples(family, point)),
    ];
  });
  return `${[...lines, ...(isOpenMetrics ? ['# EOF'] : [])].join('\n')}\n`;
}

/**
 * @param {Family} family
 * @param {Point} point
 */
function formatSamples({ name, type }, point) {
  if ('value' in point)
    return [
      `${type === 'counter' ? `${name}_total` : name}${labelText(point.labels)} ${prometheusNumber(point.value)}`,
    ];
  let below = 0;
  const buckets = point.counts.map((count, at) => {
    below += count;
    const le = at < point.bounds.length ? prometheusNumber(point.bounds[at]) : '+Inf';
    return `${name}_bucket${labelText({ ...point.labels, le })} ${below}`;
  });
  return [
    ...buckets,
    `${name}_sum${labelText(point.labels)} ${prometheusNumber(point.sum)}`,
    `${name}_count${labelText(point.labels)} ${below}`,
  ];
}

/** @param {Record<string, string>} labels */
function labelText(labels) {
  const pairs = Object.entries(labels).map(
    ([key, value]) => `${key}="${value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/**
 * @param {string} help
 * @param {boolean} isOpenMetrics
 */
function escapeHelp(help, isOpenMetrics) {
  const text = help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n');
  return isOpenMetrics ? text.replace(/"/g, '\\"') : text;
}

/** @param {number} value */
function prometheusNumber(value) {
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : 'NaN';
}

const CONNECTIONS_MAX = 32;

/**
 * @param {Exclude<ListenTarget, { kind: 'none' }>} target
 * @param {() => Promise<Family[]>} collect
 * @param {(error: unknown) => void} onFault  Called if the metrics could not be collected.
 * @param {{ stalledMs?: number, requestMs?: number }} [o]
 * @returns {Promise<() => Promise<void>>}  Resolves with a function that closes the server. Rejects
 *   if the server cannot listen on the target.
 */
export async function serveMetrics(target, collect, onFault, o = {}) {
  /** Clients that ask at the same time get the same values. @type {Promise<Family[]> | null} */
  let underway = null;
  const collectOnce = () => (underway ??= collect().finally(() => (underway = null)));
  const { server } = createGuardedServer({
    ...o,
    answer: (request, response) => answer(request, response, collectOnce),
    onFault,
    refuse: (response) => respond(response, 500, 'Collecting the metrics failed; see the log of the manager.\n'),
    connectionsMax: CONNECTIONS_MAX,
  });
  const bound = target.kind === 'unix' ? await checkPath(target.path) : null;
  if (bound !== null) await listenPrivately(server, bound);
  else if (target.kind === 'tcp') await listenExclusively(server, target);
  const inode = target.kind === 'unix' && bound ? putInPlace(bound, target.path) : 0;
  return () => {
    if (target.kind === 'unix' && lstatSync(target.path, { throwIfNoEntry: false })?.ino === inode)
      rmSync(target.path, { force: true });
    return closeServer(server);
  };
}

/** @param {string} target  A path, or behind a proxy a whole URL. */
function getPath(target) {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split('?')[0];
}

/**
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 * @param {() => Promise<Family[]>} collect
 */
async function answer(request, response, collect) {
  if (!isMeantForUs(request.headers.host)) return respond(response, 403, 'Use the address, or the name "localhost".\n');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return respond(response, 405, 'Only GET is allowed.\n', { allow: 'GET, HEAD' });
  if (getPath(request.url ?? '/') !== '/metrics')
    return respond(response, 404, 'Not found. The metrics are at /metrics.\n');
  const isOpenMetrics = /application\/openmetrics-text/.test(request.headers.accept ?? '');
  const text = expose(await collect(), isOpenMetrics);
  return respond(response, 200, request.method === 'HEAD' ? '' : text, {
    'content-type': isOpenMetrics ? OPENMETRICS_TYPE : TEXT_TYPE,
  });
}

/**
 * Accepts an IP address, "localhost", or no name. Refuses other names, because the host name of a
 * web page could lead to this address ("DNS rebinding").
 * @param {string | undefined} host
 */
function isMeantForUs(host) {
  const name = (host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name === '' || name === 'localhost' || isIP(name) > 0;
}

/**
 * @param {ServerResponse} response
 * @param {number} status
 * @param {string} text
 * @param {Record<string, string>} [headers]
 */
function respond(response, status, text, headers = {}) {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/**
 * Rejects with EEXIST if the path leads to a file that is not a socket, and with EADDRINUSE if
 * another program listens there.
 * @param {string} path
 * @returns {Promise<string>}  The path to bind. A rename then replaces the socket of a dead manager
 *   in one step.
 */
async function checkPath(path) {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there && !there.isSocket())
    throw Object.assign(new Error(`${path} exists and is not a socket`), { code: 'EEXIST' });
  if (there && (await isServed(path)))
    throw Object.assign(new Error(`another program listens on ${path}`), { code: 'EADDRINUSE' });
  return `${path}.${process.pid}`;
}

/**
 * @param {string} path
 * @returns {Promise<boolean>}
 */
function isServed(path) {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ { code = '' }) =>
      resolve(!['ECONNREFUSED', 'ENOENT'].includes(code)),
    );
  });
}

/**
 * @param {string} bound
 * @param {string} path
 * @returns {number}  Its inode.
 */
function putInPlace(bound, path) {
  renameSync(bound, path);
  return lstatSync(path).ino;
}
