import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { droppedMessages } from './dropped-messages.js';
import { fixturePath, placeFixture } from './fixtures.js';
import { takePort } from './ports.js';
import { processesOf } from './processes.js';
import { runProgram } from './run-program.js';
import { createApp } from './sandbox-app.js';
import { waitFor } from './wait-for.js';
import { openWire } from './wire.js';

/** @import { SlotStatus } from '../../lib/shared/wire/protocol.js' */
/** @import { HomeProcess } from './processes.js' */
/** @import { Result, Running } from './run-program.js' */
/** @import { App } from './sandbox-app.js' */
/** @import { Wire } from './wire.js' */

const BIN = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));

export const nodeUnderTest = () => process.env.NCLUST_TEST_NODE ?? process.execPath;

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]  Default: the sandbox's work folder.
 * @property {Record<string, string | undefined>} [env]  Overrides variables of the sandbox.
 * @property {string} [input]
 * @property {number} [timeoutMs]
 * @property {number} [uid]
 * @property {number} [gid]
 */

/**
 * @typedef {object} AppOptions
 * @property {string} [name]  Default: the name of the fixture.
 * @property {number | string} [instances]
 * @property {string[]} [flags]  Options of `nclust start`.
 * @property {string[]} [args]  Arguments of the app, after --.
 * @property {Record<string, string>} [env]  Variables of the app. PORT is always set.
 * @property {boolean} [inPlace]  The fixture stays in its folder, because it needs files there.
 */

/** @typedef {{ deadlineMs?: number }} Patience */

/**
 * @typedef {object} Sandbox
 * @property {string} home  NCLUST_HOME.
 * @property {string} work  The folder in which commands run.
 * @property {Record<string, string | undefined>} env
 * @property {(...args: (string | RunOptions)[]) => Promise<Result>} nclust
 * @property {(...args: (string | RunOptions)[]) => Running} follow  For commands that do not exit.
 * @property {(fixture: string, o?: AppOptions) => Promise<App>} app
 * @property {(fixture: string, as?: string) => string} place
 * @property {() => Promise<Wire>} wire  Closed after the test.
 * @property {() => Promise<any>} connect  Closed after the test.
 * @property {() => Promise<SlotStatus[]>} list
 * @property {() => Promise<{ keeperPid: number, controlPid: number }>} daemon
 * @property {() => HomeProcess[]} processes
 * @property
 *   {<T>(what: string, predicate: () => T | Promise<T>, o?: Patience) => Promise<NonNullable<T>>}
 *   waitFor
 * @property {() => string} logTail
 * @property {() => Promise<void>} close  Kills the daemon. Throws if this fails, if a process or a
 *   file is left, or if the keeper has dropped a message (unless `isHostile`). Idempotent.
 */

/**
 * Closes the sandbox after the test. The test fails if close() throws.
 * @param {SandboxOptions} [o]
 */
export async function sandbox(o) {
  const home = openSandbox(o);
  onTestFinished(() => home.close());
  return home;
}

/**
 * @typedef {object} SandboxOptions
 * @property {string} [bin]
 * @property {boolean} [isHostile]  Apps may send messages that an agent does not send.
 * @property {string} [home]  A home that is not removed at the end.
 * @property {Record<string, string | undefined>} [env]
 */

/**
 * The caller closes the sandbox.
 * @param {SandboxOptions} [o]
 */
export function openSandbox({ bin = BIN, home: givenHome, env: moreEnv = {}, isHostile = false } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'nclust-test-'));
  const home = givenHome ?? join(root, 'home');
  const work = join(root, 'work');
  mkdirSync(work);
  const env = { PATH: process.env.PATH, HOME: root, LANG: 'C.UTF-8', NCLUST_HOME: home, ...moreEnv };
  /** @type {(() => void | Promise<void>)[]} */
  const closers = [];
  /** @type {Promise<void> | undefined} */
  let closing;

  /** @type {Sandbox['follow']} */
  function follow(...args) {
    const last = args.at(-1);
    const o = typeof last === 'object' ? last : {};
    const words = /** @type {string[]} */ (typeof last === 'object' ? args.slice(0, -1) : args);
    return runProgram(nodeUnderTest(), ['--', bin, ...words], { ...o, cwd: o.cwd ?? work, env: { ...env, ...o.env } });
  }

  /** @type {Sandbox['nclust']} */
  const nclust = (...args) => follow(...args).done;

  const logTail = () => tailOf(join(home, 'nclust.log'));

  async function wire() {
    const opened = await openWire(join(home, 'nclust.sock'));
    closers.push(opened.close);
    return opened;
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  async function ask(method, params) {
    const once = await openWire(join(home, 'nclust.sock'));
    try {
      return await once.request(method, params);
    } finally {
      once.close();
    }
  }

  async function close() {
    for (const closer of closers) await closer();
    const dropped = isHostile ? [] : droppedMessages(home);
    const problems = [...dropped, ...(await leave({ home, nclust }))];
    const tail = problems.length > 0 ? logTail() : '';
    rmSync(root, { recursive: true, force: true });
    if (problems.length > 0) throw new Error(`The sandbox was not left clean:\n${problems.join('\n')}\n${tail}`);
  }

  /** @type {Sandbox} */
  const self = {
    home,
    work,
    env,
    nclust,
    follow,
    wire,
    logTail,
    place: (fixture, as) => placeFixture(fixture, work, as),
    async app(fixture, o = {}) {
      const port = await takePort();
      const name = o.name ?? basename(fixture, extname(fixture));
      const script = o.inPlace ? fixturePath(fixture) : placeFixture(fixture, work);
      const { instances, flags = [], args = [] } = o;
      const words = [
        'start',
        script,
        '--name',
        name,
        ...(instances === undefined ? [] : ['-i', String(instances)]),
        ...flags,
        ...(args.length > 0 ? ['--', ...args] : []),
      ];
      const result = await nclust(...words, { env: { PORT: String(port), ...o.env } });
      if (result.exitStatus !== 0)
        throw new Error(
          `nclust ${words.join(' ')} exited with ${result.exitStatus}.\n${result.stdout}${result.stderr}\n${logTail()}`,
        );
      return createApp(self, { name, script, port });
    },
    async connect() {
      const { connect } = await import('../../lib/index.js');
      const client = await connect({ home });
      closers.push(() => client.close());
      return client;
    },
    list: async () => (await ask('list', {})).slots,
    daemon: () => ask('hello', {}),
    processes: () => processesOf(home),
    waitFor: (what, predicate, o) => waitFor(what, predicate, { ...o, context: logTail }),
    close: () => (closing ??= close()),
  };
  return self;
}

/**
 * Kills the daemon. Returns the problems: a failed `nclust kill`, and processes and files that are
 * left after it.
 * @param {Pick<Sandbox, 'home' | 'nclust'>} o
 */
async function leave({ home, nclust }) {
  const problems = [];
  if (processesOf(home).some((one) => one.role !== 'other')) {
    const killed = await nclust('kill', { timeoutMs: 20_000 }).catch((/** @type {Error} */ error) => ({
      exitStatus: null,
      stderr: error.message,
    }));
    if (killed.exitStatus !== 0) problems.push(`nclust kill exited with ${killed.exitStatus}: ${killed.stderr}`);
  }
  for (const one of processesOf(home)) problems.push(`still running: pid ${one.pid} (${one.role}) ${one.command}`);
  // Keeper and control restart each other, so one round of kills may not be enough.
  for (let left = processesOf(home); left.length > 0; left = processesOf(home))
    for (const one of left) endProcess(one.pid);
  return [...problems, ...leftFiles(home)];
}

/** @param {number} pid */
function endProcess(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has just exited.
  }
}

/** @param {string} folder */
function leftFiles(folder) {
  if (!existsSync(folder) || !lstatSync(folder).isDirectory()) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isSocket() || entry.isFIFO() || /\.tmp|^claim\./.test(entry.name))
    .map((entry) => `left behind: ${join(entry.parentPath, entry.name)}`);
}

/** @param {string} file */
function tailOf(file) {
  if (!existsSync(file)) return '(no nclust.log)';
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return ['--- the end of nclust.log', ...lines.slice(-25).map((line) => line.slice(0, 600))].join('\n');
}
