import { createConfigFile } from './config-file.js';
import { NOTHING_LOST } from './ledger.js';
import { startLoad } from './load.js';
import { takePort } from './ports.js';
import { createRandom, pickOne } from './random.js';
import { fetchOnce } from './sandbox-app.js';

/** @import { Sandbox } from './sandbox.js' */
/** @import { Traffic as Load } from './traffic/traffic.js' */

/** @typedef {Record<string, any>} Entry  An app in the file. */

const APPS = 10;

/**
 * After each edit, checks that `apply` has nothing left to do and that the running apps match the
 * file. Also checks that no app has lost a request, except while it was changed.
 * @param {Sandbox} home
 * @param {{ edits: number, seed: number, tell?: (line: string) => void }} o
 * @returns {Promise<Record<string, number>>}  The number of edits of each kind.
 */
export async function doRandomEdits(home, { edits, seed, tell = () => {} }) {
  const random = createRandom(seed);
  const script = home.place('http-echo');
  const ports = await Promise.all(Array.from({ length: APPS }, () => takePort()));
  const entryOf = (/** @type {number} */ at) => ({
    name: `app-${at}`,
    script,
    instances: 1 + (at % 2),
    min_uptime: 100,
    kill_timeout: 3_000,
    env: { PORT: String(ports[at]) },
  });
  const config = createConfigFile(
    home,
    ports.map((_, at) => entryOf(at)),
  );
  await config.apply();
  /** @type {Map<string, Load>} */
  const loads = new Map();
  const loadOf = (/** @type {Entry} */ { env }) =>
    startLoad(`http://127.0.0.1:${env.PORT}`, { connections: 1, pauseMs: 40 });
  await agree(home, config, 'the start');
  for (const entry of config.apps) loads.set(entry.name, loadOf(entry));
  /** @type {Record<string, number>} */
  const done = {};
  try {
    for (let edit = 0; edit < edits; edit += 1) {
      const { kind, name, what } = nextEdit(config.apps, random, entryOf);
      const where = `edit ${edit} (seed ${seed}): ${name} ${what}`;
      await endOf(loads, name, where);
      const { plan } = await config.apply('--prune');
      tell(`${where}: ${plan.find((/** @type {{ name: string }} */ item) => item.name === name)?.action}`);
      await agree(home, config, where);
      const entry = config.apps.find((one) => one.name === name);
      if (entry) loads.set(name, loadOf(entry));
      done[kind] = (done[kind] ?? 0) + 1;
    }
  } finally {
    for (const name of [...loads.keys()]) await endOf(loads, name, `the end (seed ${seed})`);
  }
  return done;
}

/**
 * @param {Entry[]} apps  Changed in place.
 * @param {() => number} random
 * @param {(at: number) => Entry} entryOf
 * @returns {{ kind: string, name: string, what: string }}
 */
function nextEdit(apps, random, entryOf) {
  const missing = Array.from({ length: APPS }, (_, at) => `app-${at}`).filter(
    (name) => !apps.some((entry) => entry.name === name),
  );
  const kind = pickOne(random, [
    ...Object.keys(EDITS),
    ...Object.keys(EDITS),
    'remove',
    ...(missing.length > 0 ? ['add', 'add'] : []),
  ]);
  if (kind === 'add') {
    apps.push(entryOf(Number(missing[0].slice(4))));
    return { kind, name: missing[0], what: 'is new' };
  }
  const entry = pickOne(random, apps);
  if (kind === 'remove' && apps.length > 5) {
    apps.splice(apps.indexOf(entry), 1);
    return { kind, name: entry.name, what: 'is not in it any more' };
  }
  const edit = EDITS[kind] ? kind : 'limit';
  return { kind: edit, name: entry.name, what: JSON.stringify(EDITS[edit](entry, random)) };
}

/**
 * Each function changes the entry and returns the change.
 * @type {Record<string, (entry: Entry, random: () => number) => object>}
 */
const EDITS = {
  limit: (entry, random) =>
    change(entry, random, {
      kill_timeout: [2_000, '3s', '4s'],
      max_restarts: [1, 5, 20],
      restart_delay: [0, 100, 200],
      max_surge: [1, 2],
      namespace: ['default', 'shop'],
      min_uptime: [100, 150],
    }),
  log: (entry, random) =>
    change(entry, random, {
      log_type: ['raw', 'json'],
      time: [true, false],
      out_file: ['a.log', 'b.log', 'none'],
      log_max_files: [2, 3],
      log_rate_limit: ['1M', 'none'],
      merge_logs: [true, false],
    }),
  env: (entry, random) => change(entry.env, random, { COLOUR: ['red', 'blue'], SIZE: ['1', '2', '3'] }),
  'env without': (entry) => {
    const key = entry.env.COLOUR === undefined ? 'SIZE' : 'COLOUR';
    delete entry.env[key];
    return { [key]: 'none' };
  },
  args: (entry, random) =>
    change(entry, random, { args: [['x'], ['y', 'a b'], []], node_args: ['', '--trace-warnings'] }),
  instances: (entry, random) =>
    set(entry, {
      instances: pickOne(
        random,
        [1, 2, 3].filter((count) => count !== entry.instances),
      ),
      exec_mode: 'cluster',
    }),
  mode: (entry) =>
    set(entry, entry.exec_mode === 'fork' ? { exec_mode: 'cluster' } : { exec_mode: 'fork', instances: 1 }),
};

/**
 * @param {Entry} entry
 * @param {() => number} random
 * @param {Record<string, unknown[]>} choices
 */
function change(entry, random, choices) {
  const key = pickOne(random, Object.keys(choices));
  return set(entry, {
    [key]: pickOne(
      random,
      choices[key].filter((value) => JSON.stringify(value) !== JSON.stringify(entry[key])),
    ),
  });
}

/**
 * @param {Entry} entry
 * @param {Entry} values
 */
function set(entry, values) {
  Object.assign(entry, values);
  return values;
}

/**
 * @param {Map<string, Load>} loads
 * @param {string} name
 * @param {string} where
 */
async function endOf(loads, name, where) {
  const load = loads.get(name);
  loads.delete(name);
  const ledger = await load?.stop();
  if (!ledger) return;
  const lost = Object.keys(NOTHING_LOST).filter((bucket) => ledger[/** @type {'reset'} */ (bucket)] > 0);
  if (lost.length > 0 || ledger.ok === 0)
    throw new Error(
      `${name} lost requests before ${where}: ` +
        `${JSON.stringify({ ok: ledger.ok, failures: ledger.failures.slice(0, 5) })}`,
    );
}

/**
 * @param {Sandbox} home
 * @param {ReturnType<typeof createConfigFile>} config
 * @param {string} where
 */
async function agree(home, config, where) {
  const pending = await config.pending('--prune');
  if (pending.length > 0) throw new Error(`There is something left to do after ${where}: ${JSON.stringify(pending)}`);
  const found = (await home.list()).map(
    ({ name, status, mode, namespace }) => `${name} ${status} ${mode} ${namespace}`,
  );
  const expected = config.apps.flatMap(({ name, instances, exec_mode: mode = 'cluster', namespace = 'default' }) =>
    Array.from({ length: instances }, () => `${name} online ${mode} ${namespace}`),
  );
  if (JSON.stringify(found.sort()) !== JSON.stringify(expected.sort()))
    throw new Error(`After ${where} there is ${JSON.stringify({ found, expected })}`);
  for (const { name, env, args = [] } of config.apps) {
    // Waits, because an app may count as up because of its age, before it listens.
    const answer = await home.waitFor(`${name} to answer`, () => fetchOnce(`http://127.0.0.1:${env.PORT}/?env=1`));
    const is = { COLOUR: answer.env.COLOUR, SIZE: answer.env.SIZE, args: answer.argv };
    const should = { COLOUR: env.COLOUR, SIZE: env.SIZE, args };
    if (JSON.stringify(is) !== JSON.stringify(should))
      throw new Error(`After ${where} ${name} runs with ${JSON.stringify({ is, should })}`);
  }
}
