// The judge of troubles, with real programs that are sick all at once, beside healthy ones that
// look suspicious. apps.js has a row for each.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pause, slowdown, within } from '../helpers/wait-for.js';
import { HEALTHY, SICK } from './apps.js';
import { openNight } from './night.js';
import { listPairs, normalize, openSurfaces, splitBlocks } from './surfaces.js';

/** Written with NCLUST_WRITE_GOLDEN=1. */
const GOLDEN = fileURLToPath(new URL('why.txt', import.meta.url));

/** From a full sign to its trouble, and from a cure to the end of the trouble. */
const NOTICED_S = 60;

/** The apps whose fault comes later are healthy for this long. */
const HEALTHY_MS = 15_000;

const LAST_FULL_S = Math.max(...SICK.map(({ fullS }) => fullS));

const expected = listPairs(SICK.map(({ name, kind }) => ({ app: name, kind })));

/** By app. @type {Map<string, number>} */
const faultsMs = new Map();

/** @type {import('./night.js').Night} */
let night;

beforeAll(async () => {
  for (const { name } of SICK) faultsMs.set(name, Date.now());
  night = await openNight();
});

afterAll(() => night?.close());

const listOpen = async () => listPairs(await night.troubles());

/** The seconds of each app, and those that took too long. */
function findLate(seconds, allowedS) {
  const late = seconds.filter(({ took }, at) => !(took <= allowedS(SICK[at]) * slowdown()));
  return { late, message: seconds.map(({ name, took }) => `${name} ${took} s`).join(', ') };
}

/** Without a free CPU, a worker that computes for 1 s blocks its event loop for longer. */
const isOfMachine = ({ kind }) => kind === 'loop-blocked' && loadavg()[0] > 4 * cpus().length;

test('an app has no trouble before its fault', async () => {
  const later = [...SICK.filter(({ fault }) => fault), ...HEALTHY].map(({ name }) => name);
  const isUp = ({ name, status }) => !later.includes(name) || status !== 'launching';
  await night.home.waitFor('all to be up', async () => (await night.home.list()).every(isUp), { deadlineMs: 60_000 });
  await pause(HEALTHY_MS);
  const changes = (await night.changes()).filter(({ app }) => later.includes(app));
  expect(changes.filter((change) => !isOfMachine(change))).toEqual([]);
});

test(`each sick app has its trouble ${NOTICED_S} s after its full sign, and no other one`, async () => {
  for (const { name, fault } of SICK) if (fault) faultsMs.set(name, Date.now());
  await within('all faults', Promise.all([...SICK, ...HEALTHY].map(({ fault }) => fault?.(night))), 60_000);
  await night.home.waitFor('the troubles', async () => String(await listOpen()) === String(expected), {
    deadlineMs: (LAST_FULL_S + NOTICED_S) * 1000,
  });
  const changes = await night.changes();
  const seconds = SICK.map(({ name }) => {
    const at = changes.find(({ app, hasBegun }) => app === name && hasBegun)?.at ?? NaN;
    return { name, took: Math.round((at - Number(faultsMs.get(name))) / 1000) };
  });
  const { late, message } = findLate(seconds, ({ fullS }) => fullS + NOTICED_S);
  expect(late, message).toEqual([]);
});

test('why, list, describe, doctor, monit, the dashboard and Prometheus name the same troubles', async () => {
  const { read, close } = await openSurfaces(night.home);
  const shown = await read();
  close();
  const { 'apps in doctor': apps, ...surfaces } = shown;
  expect(surfaces).toEqual(Object.fromEntries(Object.keys(surfaces).map((surface) => [surface, expected])));
  expect(apps).toEqual(SICK.map(({ name }) => name).sort());
});

test('why names the cause of each trouble and the next command, in the recorded words', async () => {
  const { stdout, exitStatus } = await night.home.nclust('why');
  expect(exitStatus).toBe(1);
  const words = normalize(stdout, tmpdir());
  if (process.env.NCLUST_WRITE_GOLDEN) writeFileSync(GOLDEN, words);
  const isHere = (/** @type {string} */ block) =>
    !/^(bad|warn) /.test(block) || SICK.some(({ name }) => block.includes(` ${name} `));
  expect(splitBlocks(words)).toEqual(splitBlocks(readFileSync(GOLDEN, 'utf8')).filter(isHere));
});

test(`each trouble ends ${NOTICED_S} s after its cure`, async () => {
  /** By app. @type {Map<string, number>} */
  const curedMs = new Map();
  const cureOne = async ({ name, cure }) => {
    await cure(night);
    curedMs.set(name, Date.now());
  };
  await within('all cures', Promise.all(SICK.map(cureOne)), 60_000);
  /** @type {string[]} */
  let left = [];
  const isOver = async () => (left = await listOpen()).length === 0;
  await night.home.waitFor('the end of the troubles', isOver, { deadlineMs: NOTICED_S * 1000 }).catch((error) => {
    throw new Error(`Still open: ${left.join(', ')}`, { cause: error });
  });
  const changes = await night.changes();
  const seconds = SICK.map(({ name }) => {
    const at = changes.findLast(({ app, hasBegun }) => app === name && !hasBegun)?.at ?? NaN;
    return { name, took: Math.round((at - Number(curedMs.get(name))) / 1000) };
  });
  const { late, message } = findLate(seconds, () => NOTICED_S);
  expect(late, message).toEqual([]);
});

test('in the whole night, no app had another trouble', async () => {
  const isMeant = ({ app, kind }) => SICK.some(({ name, also }) => name === app && also?.includes(kind));
  const isExcused = (change) => isMeant(change) || (isOfMachine(change) && !expected.includes(listPairs([change])[0]));
  const begun = (await night.changes()).filter((change) => change.hasBegun && !isExcused(change));
  expect(listPairs(begun)).toEqual(expected);
});
