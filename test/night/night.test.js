import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { slowdown, waitFor, within } from '../helpers/wait-for.js';
import { HEALTHY, SICK } from './apps.js';
import { openNight } from './night.js';
import { listPairs, normalize, openSurfaces } from './surfaces.js';

const GOLDEN = fileURLToPath(new URL('why.txt', import.meta.url));

/** From a full sign to its trouble, and from a cure to the end of the trouble. */
const NOTICED_MS = 60_000;

/** Nothing is wrong for this long with the apps whose fault comes later. */
const HEALTHY_MS = 20_000;

const expected = listPairs(SICK.map(({ name, kind }) => ({ app: name, kind })));

/** By app. @type {Map<string, number>} */
const faultsMs = new Map();

/** @type {import('./night.js').Night} */
let night;

beforeAll(async () => {
  const startedMs = Date.now();
  night = await openNight();
  for (const { name } of SICK) faultsMs.set(name, startedMs);
});

afterAll(() => night?.close());

const open = async () => listPairs(await night.troubles());

test('apps whose fault comes later have no trouble before', async () => {
  const later = [...SICK.filter(({ fault }) => fault), ...HEALTHY].map(({ name }) => name);
  const isUp = ({ name, status }) => !later.includes(name) || status !== 'launching';
  await night.home.waitFor('all to be up', async () => (await night.home.list()).every(isUp), { deadlineMs: 60_000 });
  const sinceMs = Date.now();
  await waitFor('a healthy while', () => Date.now() - sinceMs > HEALTHY_MS, { deadlineMs: 2 * HEALTHY_MS });
  expect(night.changes.filter(({ app }) => later.includes(app))).toEqual([]);
});

test('why names each sick app with its kind within 60 s of its full sign, and nothing else', async () => {
  for (const { name, fault } of SICK) if (fault) faultsMs.set(name, Date.now());
  await within('to begin all faults', Promise.all([...SICK, ...HEALTHY].map(({ fault }) => fault?.(night))), 60_000);
  const fullMs = ({ name, fullS }) => (faultsMs.get(name) ?? 0) + fullS * 1000 * slowdown();
  const lastMs = Math.max(...SICK.map(fullMs)) + NOTICED_MS;
  await night.home.waitFor('all kinds', async () => String(await open()) === String(expected), {
    deadlineMs: lastMs - Date.now(),
  });
  const tookS = SICK.map((app) => {
    const began = night.changes.find(({ app: name, hasBegun }) => name === app.name && hasBegun);
    return { app: app.name, tookS: Math.round((Number(began?.at) - fullMs(app)) / 1000) + app.fullS };
  });
  console.table(tookS);
  expect(tookS.filter(({ tookS: s }, at) => s > SICK[at].fullS + (NOTICED_MS / 1000) * slowdown())).toEqual([]);
});

test('the six surfaces name the same troubles at the same moment', async () => {
  const read = await openSurfaces(night.home);
  const shown = await read();
  expect(shown).toEqual({
    ...Object.fromEntries(Object.keys(shown).map((surface) => [surface, expected])),
    'apps in doctor': SICK.map(({ name }) => name).sort(),
  });
});

test('the words of why are as recorded', async () => {
  const { stdout, exitStatus } = await night.home.nclust('why');
  writeFileSync('/tmp/w/g-why.txt', stdout);
  expect(exitStatus).toBe(1);
  const words = normalize(stdout, tmpdir());
  if (process.env.NCLUST_WRITE_GOLDEN) writeFileSync(GOLDEN, words);
  expect(words).toBe(readFileSync(GOLDEN, 'utf8'));
});

test('each trouble ends within 60 s of its cure', async () => {
  /** @type {Map<string, number>} */
  const curedMs = new Map();
  const cureOne = async ({ name, cure }) => {
    await cure(night);
    curedMs.set(name, Date.now());
  };
  await within('to cure all', Promise.all(SICK.map(cureOne)), 60_000);
  await night.home.waitFor('all troubles to end', async () => (await open()).length === 0, {
    deadlineMs: NOTICED_MS,
  });
  const tookS = SICK.map(({ name }) => {
    const ended = night.changes.findLast(({ app, hasBegun }) => app === name && !hasBegun);
    return { app: name, tookS: Math.round((Number(ended?.at) - Number(curedMs.get(name))) / 1000) };
  });
  console.table(tookS);
  expect(tookS.filter(({ tookS: s }) => s > (NOTICED_MS / 1000) * slowdown())).toEqual([]);
});

test('no healthy app had a trouble in the whole night, and no sick app another one', () => {
  const begun = listPairs(night.changes.filter(({ hasBegun }) => hasBegun));
  expect(begun).toEqual(expected);
});
