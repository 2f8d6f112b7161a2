import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { slowdown } from './wait-for.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Readable } from 'node:stream' */

/**
 * @typedef {object} Result
 * @property {number | null} exitStatus  null if a signal ended the program.
 * @property {string | null} signal
 * @property {string} stdout
 * @property {string} stderr
 * @property {number} durationMs
 * @property {() => any} json  Parses stdout. If stdout is not JSON, throws an error with both
 *   streams.
 */

/**
 * @typedef {object} Running
 * @property {ChildProcess} child
 * @property {() => string} stdout
 * @property {() => string} stderr
 * @property {Promise<Result>} done  Rejects at the time limit, or if the start fails.
 */

/**
 * The program does not get the test's environment.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {object} o
 * @param {Record<string, string | undefined>} o.env
 * @param {string} [o.cwd]
 * @param {string} [o.input]  Text for stdin. Without it, stdin is empty.
 * @param {number} [o.timeoutMs]  Scales with NCLUST_TEST_SLOWDOWN.
 * @param {number} [o.uid]
 * @param {number} [o.gid]
 * @returns {Running}
 */
export function runProgram(file, args, { env, cwd, input, timeoutMs = 45_000, uid, gid }) {
  const startedMono = performance.now();
  const child = spawn(file, args, {
    env,
    cwd,
    uid,
    gid,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(input);
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const done = new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(
        new Error(
          `"${[file, ...args].join(' ')}" did not end in ${timeoutMs * slowdown()} ms.\nstdout: ` +
            `${out()}\nstderr: ${err()}`,
        ),
      );
    }, timeoutMs * slowdown());
    child.once('error', reject);
    child.once('close', (exitStatus, signal) => {
      clearTimeout(timer);
      resolve(
        createResult({ exitStatus, signal, stdout: out(), stderr: err(), durationMs: performance.now() - startedMono }),
      );
    });
  });
  return { child, stdout: out, stderr: err, done: /** @type {Promise<Result>} */ (done) };
}

/** @param {Omit<Result, 'json'>} facts */
function createResult(facts) {
  return {
    ...facts,
    json() {
      try {
        return JSON.parse(facts.stdout);
      } catch (cause) {
        throw new Error(`stdout is not JSON.\nstdout: ${facts.stdout}\nstderr: ${facts.stderr}`, { cause });
      }
    },
  };
}

/** @param {Readable | null} stream */
function collect(stream) {
  /** @type {Buffer[]} */
  const chunks = [];
  stream?.on('data', (chunk) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString('utf8');
}
