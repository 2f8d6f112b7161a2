import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { droppedMessages } from './dropped-messages.js';
import { fixturePath, placeFixture } from './fixtures.js';
import { killIfThere, processesOf } from './processes.js';
import { waitFor } from './wait-for.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The test is the parent and the control of this keeper.
 * @typedef {Awaited<ReturnType<typeof realKeeper>>} RealKeeper
 */

/**
 * @param {object} [o]
 * @param {string} [o.home]  Default: a new home, which is removed after the test.
 * @param {object[]} [o.adopt]  Orphans, from `snapshot`.
 * @param {number} [o.uid]
 * @param {string} [o.path]  PATH of the keeper.
 * @param {boolean} [o.isOpen]  Other users can read the code of the keeper and the fixtures.
 * @param {boolean} [o.isHostile]
 * @param {boolean} [o.expectHeld]  If true, another keeper has the home, and realKeeper() resolves
 *   when this keeper exits.
 */
export async function realKeeper({
  home = temporaryHome(),
  expectHeld = false,
  uid = undefined,
  adopt = [],
  path = process.env.PATH,
  isOpen = false,
  isHostile = false,
} = {}) {
  const root = uid !== undefined ? copyFor(uid, home) : isOpen ? openCopy() : ROOT;
  const log = openSync(join(home, 'nclust.log'), 'a');
  const env = { NCLUST_HOME: home, PATH: path, NCLUST_KEEPER_INHERIT: '1' };
  const child = spawn(process.env.NCLUST_TEST_NODE ?? process.execPath, [join(root, 'daemon/keeper/main.js')], {
    env,
    uid,
    detached: true,
    stdio: ['ignore', log, log, 'pipe', 'ipc'],
  });
  closeSync(log);
  /** @type {{ event: string, data: any, handle?: any }[]} */
  const events = [];
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const pending = new Map();
  let lastId = 0;
  let report = '';
  /** @type {Map<string, string>} */
  const output = new Map();
  /** @type {NonNullable<typeof child.stdio[3]>} */ (child.stdio[3]).on('data', (text) => {
    report += text;
  });
  child.on('message', (/** @type {any} */ message, handle) => {
    if (message.data?.instanceId) message.data.instanceId = shortId(message.data.instanceId);
    if (message.event === 'released')
      for (const one of events) if (one.data.key === message.data.key) one.handle?.close();
    if (message.id === undefined) return void events.push({ ...message, handle });
    const { resolve, reject } = pending.get(message.id) ?? {};
    pending.delete(message.id);
    if (message.error) reject?.(Object.assign(new Error(message.error.message), message.error));
    else resolve?.(message.ok);
  });

  // A keeper ends every process that has the id of one of its instances in its environment. The
  // suffix makes ids unique, so that a keeper does not end processes of another test.
  const ending = `.${basename(home)}`;
  const shortId = (/** @type {string} */ id) => (id.endsWith(ending) ? id.slice(0, -ending.length) : id);
  const fullId = (/** @type {string} */ id) => shortId(id) + ending;

  /**
   * @param {string} verb
   * @param {object} [params]
   * @param {any} [handle]
   */
  const call = (verb, params = {}, handle = undefined) =>
    new Promise((resolve, reject) => {
      const id = (lastId += 1);
      pending.set(id, { resolve, reject });
      const { instanceId } = /** @type {{ instanceId?: string }} */ (params);
      child.send(
        { v: 1, id, verb, params: instanceId === undefined ? params : { ...params, instanceId: fullId(instanceId) } },
        handle,
      );
    });
  const context = () =>
    readFileSync(join(home, 'nclust.log'), 'utf8') + [...output].map(([id, text]) => `${id}: ${text}`).join('\n');
  /**
   * @param {string} instanceId
   * @param {string} path
   */
  const readPipe = (instanceId, path) => {
    const socket = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) });
    socket.on('data', (text) => output.set(instanceId, (output.get(instanceId) ?? '') + text));
    onTestFinished(() => void socket.destroy());
  };

  const keeper = {
    home,
    pid: child.pid ?? 0,
    call,
    events,
    output: (/** @type {string} */ instanceId) => output.get(instanceId) ?? '',
    report: () => report,
    /**
     * @param {string} instanceId
     * @param {{ read?: boolean, env?: Record<string, string>, [param: string]: unknown }} params
     */
    async spawn(instanceId, { read = true, ...params } = {}) {
      const env = { PATH: process.env.PATH, NCLUST_HOME: home, NCLUST_INSTANCE: fullId(instanceId), ...params.env };
      const facts = await call('spawn', {
        instanceId,
        app: 'api',
        label: null,
        mode: 'exec',
        args: [],
        execArgv: [],
        cwd: home,
        ...params,
        env,
      });
      if (read) for (const path of [facts.outPipe, facts.errPipe]) readPipe(instanceId, path);
      return facts;
    },
    /**
     * @param {string} instanceId
     * @param {string} fixture
     * @param {object} [params]
     */
    spawnNode: (instanceId, fixture, params = {}) =>
      keeper.spawn(instanceId, {
        mode: 'cluster',
        file: process.env.NCLUST_TEST_NODE ?? process.execPath,
        script: isOpen ? placeFixture(fixture, join(root, 'fixtures')) : fixturePath(fixture),
        ...params,
      }),
    /**
     * @param {string} instanceId
     * @param {object} [params]
     */
    retire: (instanceId, params = {}) =>
      call('retire', { instanceId, killTimeoutMs: 10_000, signal: null, drain: 'finish', tree: true, ...params }),
    /**
     * @param {string} event
     * @param {string} instanceId
     */
    event: (event, instanceId) =>
      waitFor(
        `${event} of ${instanceId}`,
        () => events.find((one) => one.event === event && one.data.instanceId === instanceId),
        { context },
      ),
    /**
     * @param {string} instanceId
     * @param {string} text
     */
    says: (instanceId, text) =>
      waitFor(`"${text}" from ${instanceId}`, () => keeper.output(instanceId).includes(text), { context }),
    fullId,
    shortId,
    processes: () => processesOf(home).filter((one) => one.role === 'app'),
    kill: () => {
      child.kill('SIGKILL');
      return exited;
    },
    async close() {
      for (const one of processesOf(home)) killIfThere(one.pid);
      await waitFor('an empty home', () => processesOf(home).length === 0);
      if (!isHostile) expect(droppedMessages(home)).toEqual([]);
    },
  };
  const exited = new Promise((resolve) => child.once('exit', resolve));
  void exited.then(() => {
    for (const { reject } of pending.values()) reject(new Error('the keeper has ended'));
  });
  onTestFinished(() => keeper.close());
  if (expectHeld) {
    await exited;
    return keeper;
  }
  await call('snapshot');
  for (const orphan of adopt) await call('adopt', orphan);
  await call('control-ready');
  return keeper;
}

/**
 * Copies the files that a keeper reads, because the user may not be able to read the checkout.
 * @param {number} uid
 * @param {string} home
 * @returns {string}
 */
function copyFor(uid, home) {
  copyTo(join(home, 'code'));
  for (const name of ['', ...readdirSync(home, { recursive: true, encoding: 'utf8' })])
    chownSync(join(home, name), uid, uid);
  return join(home, 'code');
}

/** @returns {string}  A folder that is removed after the test. */
export function openCopy() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-code-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  copyTo(folder);
  placeFixture('package.json', join(folder, 'fixtures'));
  return folder;
}

/** @param {string} folder */
function copyTo(folder) {
  for (const part of ['daemon/keeper', 'daemon/agent', 'lib/shared/daemon', 'package.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
}

/** @returns {string}  A folder that is removed after the test. */
export function temporaryHome() {
  const home = mkdtempSync(join(tmpdir(), 'nclust-keeper-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}
