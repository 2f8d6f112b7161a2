import { spawn } from 'node:child_process';

/** @import { Readable } from 'node:stream' */
/** @import { Deployment } from './deployment.js' */

/** @typedef {{ stream: 'out' | 'err', text: string }} Line */

/**
 * @typedef {object} Ended
 * @property {number} code  255: ssh could not connect, or lost the connection. 130: SIGINT ended
 *   the local process. 143: another signal ended it.
 * @property {Record<string, string>} reports  The last value that the script reported for each key.
 */

/**
 * @param {Deployment} deployment
 * @param {string} host
 * @param {string} script
 * @param {object} o
 * @param {Record<string, string | undefined>} o.env  Environment of the shell. Its PATH must
 *   contain ssh.
 * @param {AbortSignal} o.signal  Ends ssh. A command on the host exits when it writes again.
 * @param {(line: Line) => void} o.onLine
 * @returns {Promise<Ended>}  Rejects if ssh cannot be started, for example if it is not in PATH.
 */
export function runRemote(deployment, host, script, { env, signal, onLine }) {
  const mark = `:nclust-${globalThis.crypto.randomUUID()}:`;
  return run('ssh', sshArguments(deployment, host, READ_SCRIPT), {
    env,
    mark,
    signal,
    onLine,
    input: `nclust_mark=${mark}\n${script}`,
  });
}

/**
 * Reads the script from stdin, because the user's shell may not be a POSIX shell, and because other
 * users must not see the script in the list of processes.
 */
const READ_SCRIPT = `sh -c 'eval "$(cat)"'`;

/**
 * @param {string} command
 * @param {object} o
 * @param {string} o.cwd
 * @param {Record<string, string | undefined>} o.env
 * @param {AbortSignal} o.signal
 * @param {(line: Line) => void} o.onLine
 * @returns {Promise<Ended>}
 */
export function runLocal(command, { cwd, env, signal, onLine }) {
  return run('sh', ['-c', command], { cwd, env, mark: null, signal, onLine, input: '' });
}

/**
 * @param {Deployment} deployment
 * @param {string} host
 * @param {string} command
 */
export function sshArguments({ user, port, key, sshOptions }, host, command) {
  const to = user === null ? host : `${user}@${host}`;
  return [
    ...(port === null ? [] : ['-p', String(port)]),
    ...(key === null ? [] : ['-i', key]),
    ...sshOptions.flatMap((option) => ['-o', option]),
    to,
    command,
  ];
}

/**
 * @param {string} file
 * @param {string[]} args
 * @param {object} o
 * @param {string} [o.cwd]
 * @param {Record<string, string | undefined>} o.env
 * @param {string | null} o.mark
 * @param {string} o.input
 * @param {AbortSignal} o.signal
 * @param {(line: Line) => void} o.onLine
 * @returns {Promise<Ended>}
 */
function run(file, args, { cwd, env, mark, input, signal, onLine }) {
  return new Promise((resolve, reject) => {
    /** @type {Record<string, string>} */
    const reports = {};
    const child = spawn(file, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const end = () => void child.kill('SIGINT');
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    // Ignores errors: if the child exits before it has read all input, its exit status shows why.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    cutLines(child.stdout, (line) => {
      const at = mark === null ? -1 : line.indexOf(mark);
      if (at !== 0) onLine({ stream: 'out', text: at === -1 ? line : line.slice(0, at) });
      if (at !== -1) note(reports, line.slice(at + /** @type {string} */ (mark).length + 1));
    });
    cutLines(child.stderr, (text) => onLine({ stream: 'err', text }));
    child.once('error', reject);
    // After an abort, close the streams, because processes of the child may keep them open.
    child.once('exit', () => {
      if (signal.aborted) for (const stream of [child.stdout, child.stderr]) stream.destroy();
    });
    child.once('close', (code, by) => {
      signal.removeEventListener('abort', end);
      resolve({ code: code ?? 128 + (by === 'SIGINT' ? 2 : 15), reports });
    });
  });
}

/** A longer line is passed on in parts, because the host decides how long a line is. */
const LINE_MAX_CHARS = 64 * 1024;

/**
 * A carriage return ends a line, too, because programs print their progress with it.
 * @param {Readable} stream
 * @param {(line: string) => void} onLine
 */
function cutLines(stream, onLine) {
  let held = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk) => {
    const lines = `${held}${chunk}`.split(/\r\n|\n|\r(?!$)/);
    held = lines.pop() ?? '';
    lines.forEach(onLine);
    if (held.length <= LINE_MAX_CHARS) return;
    onLine(held);
    held = '';
  });
  stream.on('end', () => {
    if (held !== '') onLine(held.replace(/\r$/, ''));
  });
}

/** The facts that the scripts report. */
const KEYS = new Set([
  'active',
  'back',
  'commit',
  'held',
  'locked',
  'previous',
  'release',
  'step',
  'switched',
  'unlocked',
]);

/**
 * @param {Record<string, string>} reports
 * @param {string} said
 */
function note(reports, said) {
  const [key] = said.split(' ', 1);
  if (KEYS.has(key)) reports[key] = said.slice(key.length + 1);
}
