import { expect, onTestFinished, test } from 'vitest';
import { serve } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';
import { soakScale } from '../../helpers/soak.js';
import { startVisitors } from '../../helpers/visitors.js';
import { pause } from '../../helpers/wait-for.js';

const LENGTH_MS = 2 * 3_600_000 * soakScale;
const ROUND_MS = 60_000;
const ROUNDS = Math.max(3, Math.round(LENGTH_MS / ROUND_MS));
const KILLS = 10;
/** Kills of control during the round in which a worker is stopped. */
const KILLS_WHILE_STOPPED = 3;

/** The app with a worker that gets SIGSTOP for a minute. */
const STOPPED = 'stopped';
const STOPPED_MS = 60_000;

/** Looking more often would keep control busy. */
const LOOK_MS = 500;

/** Two cores have a lot to do when all processes are replaced at once. */
const PATIENCE = { deadlineMs: 180_000 };

const BURST_MS = 10_000;
const isBurst = () => Date.now() % (3 * BURST_MS) < BURST_MS;

let isOverloaded = false;

/**
 * Healthy apps that look sick to a simple rule: fixture, options, and the visitors.
 * @type {[string, string, object, (Parameters<typeof startVisitors>[1] & { path?: string })[]][]}
 */
const APPS = [
  ['bursts', 'http-echo', { instances: 2 }, [{ clients: 20, pauseMs: 80, isOpen: isBurst }]],
  ['collects', 'collects-garbage', {}, [{ clients: 1, pauseMs: 300 }]],
  [
    'streams',
    'streams-events',
    { instances: 2 },
    [
      { path: '/events', clients: 5, pauseMs: 1_000 },
      { path: '/poll', clients: 10, pauseMs: 100 },
      { clients: 1, pauseMs: 400 },
    ],
  ],
  // Answers seldom, and one of its requests takes a minute.
  [
    'exports',
    'streams-events',
    { env: { POLL_MS: '60000' } },
    [
      { path: '/poll', clients: 1, pauseMs: 5_000 },
      { clients: 1, pauseMs: 7_000 },
    ],
  ],
  ['computes', 'computes-now-and-then', {}, [{ clients: 3, pauseMs: 500 }]],
  ['fails', 'fails-seldom', { instances: 2 }, [{ clients: 10, pauseMs: 100 }]],
  ['loads', 'computes-at-boot', { env: { BOOT_MS: '14000' } }, [{ clients: 1, pauseMs: 500 }]],
  ['waits', 'http-echo', {}, [{ path: '/?delay=800', clients: 10, pauseMs: 100 }]],
  // The clients send four times the requests that one process can answer.
  [
    'works',
    'works-for-each-request',
    {},
    [
      { clients: 2, pauseMs: 100 },
      { clients: 20, pauseMs: 80, isOpen: () => isOverloaded },
    ],
  ],
  ['leaves', 'answers-late-and-leaves-late', { instances: 2 }, [{ clients: 4, pauseMs: 500 }]],
  [STOPPED, 'http-echo', { instances: 2 }, [{ clients: 4, pauseMs: 100 }]],
];

const formatTime = (/** @type {number} */ ms) => new Date(ms).toISOString().slice(11, 19);

const say = (/** @type {string} */ line) => process.stdout.write(`${formatTime(Date.now())} ${line}\n`);

async function startAll(home) {
  const visitors = [];
  onTestFinished(async () => void (await Promise.all(visitors.map((some) => some.stop()))));
  for (const [name, fixture, o, visits] of APPS) {
    const app = await serve(home, fixture, { name, ...o });
    for (const { path = '/', ...visit } of visits) visitors.push(startVisitors(`${app.url}${path}`, visit));
  }
  for (const [name, ...flags] of [
    ['job', '--no-autorestart'],
    ['cron-job', '--no-autorestart', '--cron', '*/20 * * * * *'],
  ])
    await home.nclust('start', home.place('exits-zero'), '--name', name, ...flags);
  return visitors;
}

const listServers = async (home) => (await home.list()).filter(({ name }) => !name.endsWith('job'));

async function killControl(home) {
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid, PATIENCE);
}

/** Waits until the next keeper has replaced all processes of the one that died. */
async function killKeeper(home) {
  const before = new Set((await home.list()).map(({ pid }) => pid));
  process.kill((await home.daemon()).keeperPid, 'SIGKILL');
  await home.waitFor(
    'the next keeper to replace all processes',
    async () => {
      await pause(LOOK_MS);
      const left = (await listServers(home)).filter(({ pid, status }) => status !== 'online' || before.has(pid));
      if (left.length > 0) throw new Error(left.map(({ name, status }) => `${name}: ${status}`).join());
      return true;
    },
    PATIENCE,
  );
}

/** @returns {Promise<string[]>}  The workers that were taken for hung. */
async function readReplacements(home) {
  const { stdout } = await home.nclust('events', '--nostream', '--json', '--type', 'trigger:health', '--lines', '1000');
  return stdout.split('\n').filter(Boolean);
}

/** @returns {Promise<any[]>}  The events of troubles in the log. */
async function readTroubles(home) {
  const { stdout } = await home.nclust('events', '--nostream', '--json', '--type', 'trouble:*', '--lines', '1000');
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const openTroubles = async (home) => (await home.nclust('why', '--json')).json();

/** @returns {Promise<number>}  How long the trouble lasts after the worker runs again, in ms. */
async function stopWorker(home) {
  const [{ pid }] = (await home.list()).filter(({ name }) => name === STOPPED);
  const findIt = async () => {
    await pause(LOOK_MS);
    return (await openTroubles(home)).find(isExpected);
  };
  const stoppedMono = performance.now();
  process.kill(pid, 'SIGSTOP');
  const begun = await home.waitFor('the trouble of the stopped worker', findIt, PATIENCE);
  expect(begun).toMatchObject({ slots: [0] });
  for (let n = 0; n < KILLS_WHILE_STOPPED; n += 1) {
    await pause(5_000);
    await killControl(home);
    const found = await home.waitFor('the trouble under the next control', findIt, PATIENCE);
    expect(found).toMatchObject({ sinceMs: begun.sinceMs });
  }
  await pause(Math.max(0, STOPPED_MS - (performance.now() - stoppedMono)));
  const continuedMono = performance.now();
  process.kill(pid, 'SIGCONT');
  await home.waitFor('the trouble to end', async () => !(await findIt()), { deadlineMs: 60_000 });
  return performance.now() - continuedMono;
}

/** In a third of the time, the apps have too much to do. */
const isLoaded = (/** @type {number} */ round) => round >= ROUNDS / 3 && round < (2 * ROUNDS) / 3;

test(
  `no trouble begins in healthy apps in ${ROUNDS} minutes of load, reloads and kills of the manager`,
  async () => {
    const home = await sandbox();
    const visitors = await startAll(home);
    /** @type {string[]} */
    const alarms = [];
    /** @type {any[]} */
    let troubles = [];
    let kills = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const endsMono = performance.now() + ROUND_MS;
      isOverloaded = isLoaded(round);
      const [name] = APPS[round % APPS.length];
      expect(await home.nclust('reload', name, { timeoutMs: 180_000 })).toMatchObject({ exitStatus: 0 });
      for (; kills < ((round + 1) * KILLS) / ROUNDS; kills += 1) {
        if (kills < KILLS - KILLS_WHILE_STOPPED) await killControl(home);
        await pause(2_000);
        await killKeeper(home);
      }
      if (round === ROUNDS >> 1) say(`the trouble of the stopped worker lasted ${await stopWorker(home)} ms longer`);
      const why = await home.nclust('why');
      if (why.stdout !== 'Nothing needs attention.\n' || why.exitStatus !== 0) alarms.push(why.stdout);
      const seen = troubles.length;
      troubles = await readTroubles(home);
      say(
        [`round ${round + 1}: reload of ${name}, ${kills} kills`, ...troubles.slice(seen).map(describeTrouble)].join(
          '\n  ',
        ),
      );
      await pause(Math.max(0, endsMono - performance.now()));
    }
    expect(visitors.every(({ answers }) => answers() > 0)).toBe(true);
    expect(troubles.filter((one) => !isExpected(one)).map(describeTrouble)).toEqual([]);
    expect(troubles.filter(isExpected).map(({ type }) => type)).toEqual(['trouble:began', 'trouble:ended']);
    expect(alarms).toEqual([]);
    expect(await readReplacements(home)).toEqual([]);
  },
  3 * ROUNDS * ROUND_MS + 300_000,
);

/** @param {any} trouble */
const isExpected = ({ app, kind }) => app === STOPPED && kind === 'loop-blocked';

/** @param {any} trouble */
function describeTrouble({ at, type, app, kind, slots, evidence }) {
  return `${formatTime(at)} ${type} ${app} ${slots} ${kind} ${JSON.stringify(evidence)}`;
}
