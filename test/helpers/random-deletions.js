import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect } from 'vitest';
import { startLoad } from './load.js';
import { NOTHING_LOST } from './ledger.js';
import { createRandom, pickOne } from './random.js';
import { serve } from './reloads.js';
import { pause } from './wait-for.js';

/** @import { Sandbox } from './sandbox.js' */

/** The share of the steps that kill control or keeper. */
const KILL_SHARE = 1 / 6;
/**
 * After a third death of keepers within 30 s, an instance gets no channel, so nclust promises less
 * (docs/lifecycle.md).
 */
const KEEPER_DEATHS_MAX = 2;
const KEEPER_DEATHS_MS = 30_000;
const SETTLE_EVERY = 10;
const SETTLE_MS = 5_000;

/**
 * Deletes random files and folders of the home while clients send requests, and kills control or
 * keeper between two deletions. Expects that no request fails, and that the manager works 5 s
 * later.
 * @param {Sandbox} home
 * @param {object} o
 * @param {number} o.deletions
 * @param {number} o.seed
 * @param {(line: string) => void} [o.tell]
 * @returns {Promise<{ done: number, lost: string | null }>}  `lost`: the notice that the list of apps
 *   was lost, which ends the deletions.
 */
export async function deleteAtRandom(home, { deletions, seed, tell = () => {} }) {
  const random = createRandom(seed);
  const cluster = await serve(home, 'http-echo', { name: 'cluster', instances: 2 });
  const fork = await serve(home, 'http-echo', { name: 'fork' });
  await home.nclust('start', home.place('ticks'), '--name', 'ticks');
  const loads = [cluster, fork].map(({ url }) => startLoad(url, { connections: 2, pauseMs: 2, timeoutMs: 10_000 }));
  /** @type {number[]} */
  const keeperDeathsMono = [];
  let lost = null;
  let number = 0;
  try {
    while (number < deletions && lost === null) {
      number += 1;
      const what = random() < KILL_SHARE ? await killOne(home, random, keeperDeathsMono) : deleteOne(home.home, random);
      tell(`${number} ${what}`);
      await pause(Math.floor(random() * 400));
      if (number % SETTLE_EVERY === 0 || number === deletions)
        lost = await expectToWork(home, `step ${number} (${what}), seed ${seed}`);
    }
  } finally {
    for (const load of loads) await load.stop();
  }
  for (const { ledger } of loads) expect(ledger).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
  return { done: number, lost };
}

/**
 * @param {string} home
 * @param {() => number} random
 */
function deleteOne(home, random) {
  // Picks the kind first, because most files are pipes.
  const path = pickOne(random, pickOne(random, kindsOf(home)));
  rmSync(path, { recursive: true, force: true });
  return `deleted ${relative(home, path)}`;
}

/**
 * @param {string} home
 * @returns {string[][]}
 */
function kindsOf(home) {
  /** @type {Map<string, string[]>} */
  const kinds = new Map();
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
    const path = join(home, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) continue; // The file was temporary.
    const kind = `${stat.mode >> 12} ${stat.isFile() ? dirname(name) : ''}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), path]);
  }
  return [...kinds.values()];
}

/**
 * @param {Sandbox} home
 * @param {() => number} random
 * @param {number[]} keeperDeathsMono
 */
async function killOne(home, random, keeperDeathsMono) {
  const nowMono = performance.now();
  const lately = keeperDeathsMono.filter((atMono) => nowMono - atMono < KEEPER_DEATHS_MS).length;
  const half = random() < 0.5 || lately >= KEEPER_DEATHS_MAX ? 'controlPid' : 'keeperPid';
  if (half === 'keeperPid') keeperDeathsMono.push(nowMono);
  const before = await home.waitFor('the manager', () => home.daemon());
  process.kill(before[half], 'SIGKILL');
  // With both dead, nclust promises less.
  await home.waitFor(`another ${half}`, async () => (await home.daemon())[half] !== before[half]);
  return `killed ${half} ${before[half]}`;
}

/**
 * @param {Sandbox} home
 * @param {string} where
 * @returns {Promise<string | null>}
 */
async function expectToWork(home, where) {
  await pause(SETTLE_MS);
  const listed = await home.nclust('list');
  expect([where, listed]).toMatchObject([where, { exitStatus: 0 }]);
  const shown = listed.stdout + listed.stderr;
  const lost = /.*(list of apps was removed|so the list is empty).*/.exec(shown)?.[0] ?? null;
  if (lost) return lost;
  await home.waitFor(`every app to be online after ${where}`, async () => {
    const slots = await home.list();
    return slots.length === 4 && slots.every(({ status }) => status === 'online');
  });
  for (const name of ['cluster', 'fork', 'ticks']) {
    const reloaded = await home.nclust('reload', name);
    expect([where, name, reloaded.exitStatus, reloaded.stderr]).toEqual([where, name, 0, expect.anything()]);
  }
  expect(home.processes().filter(({ role }) => role === 'keeper')).toHaveLength(1);
  // The app blocks if no process reads its output.
  await home.waitFor(`the log of ticks to grow after ${where}`, async () => {
    const { outFile } = (await home.list()).find(({ name }) => name === 'ticks') ?? {};
    const before = sizeOf(outFile);
    await pause(100);
    return sizeOf(outFile) > before;
  });
  return null;
}

/** @param {string} [file] */
function sizeOf(file) {
  return lstatSync(file ?? '', { throwIfNoEntry: false })?.size ?? 0;
}
