// The apps of a bad night. `fullS`: seconds from the fault, or from the start, until the sign of
// the trouble is full (docs/troubles.md). `load`: requests at once, and the pause between them.
import { cpSync, writeFileSync } from 'node:fs';
import { fixturePath } from '../helpers/fixtures.js';
import { killIfThere } from '../helpers/processes.js';
import { mayMount } from './surroundings.js';

/** @import { Night } from './night.js' */

/**
 * @typedef {object} NightApp
 * @property {string} name
 * @property {string} fixture
 * @property {string} [kind]  Missing: the app is healthy.
 * @property {string[]} [also]  Kinds that the app may have for a moment.
 * @property {number} [fullS]
 * @property {Record<string, unknown>} [options]
 * @property {Record<string, string>} [env]
 * @property {{ atOnce: number, everyMs: number, path?: string }} [load]
 * @property {(night: Night) => unknown} [fault]  Missing: the app is sick from its start. In a healthy
 *   app, it only looks like a fault.
 * @property {(night: Night) => unknown} [cure]
 */

/** @param {string} name */
const ask = (name) => (/** @type {Night} */ night) => night.ask(name, '/fault');

/** @param {string} name */
const restart = (name) => (/** @type {Night} */ night) => night.run('restart', name);

/**
 * @param {'start' | 'restart' | 'reload'} command
 * @param {string} name
 */
const fix = (command, name) => async (/** @type {Night} */ night) => {
  replace(night, name, 'http-echo.js');
  await night.run(command, name);
};

/**
 * @param {Night} night
 * @param {string} name
 * @param {string} fixture
 */
function replace(night, name, fixture) {
  cpSync(fixturePath(fixture), night.scriptOf(name));
}

const STEADY = { atOnce: 2, everyMs: 200 };

/** @type {(NightApp & Required<Pick<NightApp, 'kind' | 'fullS' | 'cure'>>)[]} */
const ROWS = [
  {
    name: 'gives-up',
    fixture: 'crashes-at-boot.js',
    kind: 'errored',
    fullS: 5,
    also: ['crash-loop'],
    options: { max_restarts: 2 },
    cure: fix('start', 'gives-up'),
  },
  {
    name: 'crashes',
    fixture: 'night/throws-later.js',
    kind: 'crash-loop',
    fullS: 8,
    env: { AFTER_MS: '2500' },
    cure: fix('reload', 'crashes'),
  },
  {
    name: 'port-held',
    fixture: 'http-echo.js',
    kind: 'port-taken',
    fullS: 5,
    env: { PORT: 'of the other home' },
    async cure(night) {
      await night.other.nclust('delete', 'all');
      await night.run('start', 'port-held');
    },
  },
  {
    name: 'waits-at-boot',
    fixture: 'night/awaits-upstream.mjs',
    kind: 'slow-start',
    fullS: 10,
    options: { listen_timeout: '30m' },
    cure: (night) => night.upstream.answer('waits-at-boot'),
  },
  {
    name: 'stays',
    fixture: 'ignores-sigterm.js',
    kind: 'stop-hangs',
    fullS: 3,
    options: { kill_timeout: '30m' },
    fault: (night) => night.run('stop', 'stays', '--no-wait'),
    cure: (night) => night.run('sendSignal', 'SIGKILL', 'stays'),
  },
  {
    name: 'disk-full',
    fixture: 'ticks.js',
    kind: 'lines-lost',
    fullS: 5,
    env: { RATE: '100' },
    fault: (night) => night.disk.fill(),
    cure: (night) => night.disk.free(),
  },
  {
    name: 'leaks',
    fixture: 'night/leaks-memory.js',
    kind: 'memory-limit',
    fullS: 45,
    options: { max_memory_restart: '120M' },
    cure: fix('reload', 'leaks'),
  },
  {
    name: 'unheard',
    fixture: 'night/listens-the-first-time.js',
    kind: 'socket-unserved',
    fullS: 25,
    fault: async (night) => killIfThere(await night.pidOf('unheard')),
    cure: fix('restart', 'unheard'),
  },
  {
    name: 'watched',
    fixture: 'http-echo.js',
    kind: 'trigger-failed',
    fullS: 5,
    options: { watch: true },
    fault: (night) => writeFileSync(night.scriptOf('watched'), 'const server = ;\n'),
    cure: (night) => replace(night, 'watched', 'http-echo.js'),
  },
  {
    name: 'halted',
    fixture: 'http-echo.js',
    kind: 'deploy-halted',
    fullS: 10,
    load: STEADY,
    async fault(night) {
      replace(night, 'halted', 'crashes-at-boot.js');
      await night.run('reload', 'halted');
    },
    cure: fix('reload', 'halted'),
  },
  {
    name: 'blocked',
    fixture: 'night/waits-in-a-call.js',
    kind: 'loop-blocked',
    fullS: 3,
    also: ['stop-hangs'],
    fault: ask('blocked'),
    cure: restart('blocked'),
  },
  {
    name: 'blocks-often',
    fixture: 'night/computes-often.js',
    kind: 'loop-blocked',
    fullS: 25,
    env: { FOR_MS: '2500', EVERY_MS: '10000' },
    cure: fix('restart', 'blocks-often'),
  },
  {
    name: 'pool',
    fixture: 'night/reads-stuck-files.js',
    kind: 'pool-stuck',
    fullS: 10,
    load: STEADY,
    fault: ask('pool'),
    cure: restart('pool'),
  },
  {
    name: 'hangs',
    fixture: 'night/asks-upstream.js',
    kind: 'no-progress',
    fullS: 35,
    load: STEADY,
    fault: (night) => night.upstream.hang('hangs'),
    cure: (night) => night.upstream.answer('hangs'),
  },
  {
    name: 'fails',
    fixture: 'night/fails-some-requests.js',
    kind: 'failing',
    fullS: 30,
    load: STEADY,
    fault: ask('fails'),
    cure: restart('fails'),
  },
  {
    name: 'slow',
    fixture: 'night/asks-upstream.js',
    kind: 'slow',
    fullS: 75,
    load: { atOnce: 12, everyMs: 200 },
    fault: (night) => night.upstream.delay('slow', 6_000),
    cure: (night) => night.upstream.answer('slow'),
  },
  {
    name: 'heap',
    fixture: 'night/fills-its-heap.js',
    kind: 'memory-wall',
    fullS: 70,
    options: { node_args: '--max-old-space-size=80 --expose-gc' },
    fault: ask('heap'),
    cure: restart('heap'),
  },
  {
    name: 'files',
    fixture: 'night/leaks-descriptors.sh',
    kind: 'descriptors',
    fullS: 20,
    fault: ask('files'),
    cure: restart('files'),
  },
  {
    name: 'converts',
    fixture: 'night/has-a-busy-child.js',
    kind: 'child-burns',
    fullS: 50,
    fault: ask('converts'),
    cure: async (night) => killIfThere((await night.troubleOf('converts')).evidence.pid),
  },
  {
    name: 'queue',
    fixture: 'night/storms-errors.js',
    kind: 'log-storm',
    fullS: 40,
    fault: ask('queue'),
    cure: restart('queue'),
  },
];

/** Only root can mount a disk that may be full. */
export const SICK = ROWS.filter(({ kind }) => kind !== 'lines-lost' || mayMount);

/** Apps that look suspicious. @type {NightApp[]} */
export const HEALTHY = [
  { name: 'ok-bursts', fixture: 'http-echo.js', load: { atOnce: 100, everyMs: 10_000 } },
  { name: 'ok-garbage', fixture: 'night/makes-garbage.js', load: STEADY },
  {
    name: 'ok-events',
    fixture: 'night/streams-events.js',
    load: { atOnce: 1, everyMs: 20_000, path: '/once' },
    fault: (night) => Promise.all([1, 2, 3].map(() => night.ask('ok-events', '/stream'))),
  },
  {
    name: 'ok-reloads',
    fixture: 'http-echo.js',
    options: { instances: 2 },
    load: { atOnce: 4, everyMs: 20 },
    async fault(night) {
      for (let at = 0; at < 3; at += 1) await night.run('reload', 'ok-reloads');
    },
  },
  { name: 'ok-job', fixture: 'exits-zero.js', options: { autorestart: false } },
  {
    name: 'ok-computes',
    fixture: 'night/computes-often.js',
    env: { FOR_MS: '1000', EVERY_MS: '5000' },
    load: { atOnce: 1, everyMs: 200 },
  },
  {
    name: 'ok-errors',
    fixture: 'night/fails-some-requests.js',
    env: { FAILS_EVERY: '50' },
    load: { atOnce: 4, everyMs: 100 },
  },
  { name: 'ok-loads', fixture: 'computes-at-boot.js', env: { BOOT_MS: '14000' } },
];
