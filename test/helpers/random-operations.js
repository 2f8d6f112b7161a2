import { instancesOf } from './processes.js';
import { createRandom, pickOne } from './random.js';
import { pause } from './wait-for.js';

/** @import { Result } from './run-program.js' */
/** @import { Sandbox } from './sandbox.js' */

/**
 * After each operation, compares the list of the manager with the wanted apps and the processes.
 * @param {Sandbox} home
 * @param {object} o
 * @param {number} o.operations
 * @param {number} o.seed
 * @param {(line: string) => void} [o.tell]
 * @returns {Promise<Record<string, number>>}  The number of operations by verb.
 */
export async function doRandomOperations(home, { operations, seed, tell = () => {} }) {
  const random = createRandom(seed);
  const script = home.place('keeps-alive');
  /** @type {Map<string, { instances: number, want: 'up' | 'down' }>} */
  const wanted = new Map();
  /** @type {Record<string, number>} */
  const done = {};
  for (let number = 1; number <= operations; number += 1) {
    const operation = await doOne({ home, random, script, wanted });
    done[operation.verb] = (done[operation.verb] ?? 0) + 1;
    tell(`${number} ${operation.verb} ${operation.detail}`);
    await agree(home, wanted, `operation ${number} (${operation.verb} ${operation.detail}), seed ${seed}`);
  }
  return done;
}

/**
 * @typedef {object} Scene
 * @property {Sandbox} home
 * @property {() => number} random
 * @property {string} script
 * @property {Map<string, { instances: number, want: 'up' | 'down' }>} wanted
 */

/** @param {Scene} scene */
async function doOne(scene) {
  const { random, wanted } = scene;
  const names = [...wanted.keys()];
  if (names.length === 0) return startNew(scene, 'app-0');
  const verb = pickOne(random, [
    'startNew',
    'stop',
    'start',
    'restart',
    'scale',
    'scale',
    'delete',
    'crash',
    'crash',
    'killControl',
    'killControlInTheMiddle',
  ]);
  const name = pickOne(random, names);
  if (verb === 'startNew' && names.length < 4)
    return startNew(scene, `app-${[0, 1, 2, 3].find((n) => !wanted.has(`app-${n}`))}`);
  if (verb === 'crash' || verb === 'startNew') return crash(scene);
  if (verb === 'killControl') return killControl(scene);
  if (verb === 'killControlInTheMiddle') return killControlInTheMiddle(scene, name);
  return command(scene, verb, name);
}

/**
 * @param {Scene} scene
 * @param {string} name
 */
async function startNew({ home, random, script, wanted }, name) {
  const instances = 1 + Math.floor(random() * 3);
  await ok(
    home.nclust(
      'start',
      script,
      '--name',
      name,
      '-i',
      String(instances),
      '--min-uptime',
      '100',
      '--kill-timeout',
      '3000',
    ),
  );
  wanted.set(name, { instances, want: 'up' });
  return { verb: 'start', detail: `${name} x${instances}` };
}

/**
 * @param {Scene} scene
 * @param {string} verb
 * @param {string} name
 */
async function command({ home, random, wanted }, verb, name) {
  const app = /** @type {{ instances: number, want: 'up' | 'down' }} */ (wanted.get(name));
  const instances = 1 + Math.floor(random() * 4);
  await ok(home.nclust(verb, name, ...(verb === 'scale' ? [String(instances)] : [])));
  if (verb === 'delete') wanted.delete(name);
  else if (verb === 'scale') wanted.set(name, { ...app, instances });
  else wanted.set(name, { ...app, want: verb === 'stop' ? 'down' : 'up' });
  return { verb, detail: `${name}${verb === 'scale' ? ` ${instances}` : ''}` };
}

/** @param {Scene} scene */
async function crash({ home, random }) {
  const victims = instancesOf(home.home);
  if (victims.length === 0) return { verb: 'crash', detail: 'no process' };
  const { pid } = pickOne(random, victims);
  process.kill(pid, 'SIGKILL');
  return { verb: 'crash', detail: String(pid) };
}

/** @param {Scene} scene */
async function killControl({ home }) {
  const { controlPid } = await home.waitFor('control', () => home.daemon());
  process.kill(controlPid, 'SIGKILL');
  return { verb: 'killControl', detail: String(controlPid) };
}

/**
 * @param {Scene} scene
 * @param {string} name
 */
async function killControlInTheMiddle(scene, name) {
  const verb = pickOne(scene.random, ['restart', 'scale', 'stop', 'start']);
  const { controlPid } = await scene.home.waitFor('control', () => scene.home.daemon());
  const afterMs = Math.floor(scene.random() * 250);
  const [{ detail }] = await Promise.all([
    command(scene, verb, name),
    pause(afterMs).then(() => process.kill(controlPid, 'SIGKILL')),
  ]);
  return { verb: `${verb}, control killed`, detail: `${detail} after ${afterMs} ms` };
}

/**
 * @param {Sandbox} home
 * @param {Scene['wanted']} wanted
 * @param {string} where
 */
async function agree(home, wanted, where) {
  await home.waitFor(
    `the list, the wanted apps and the processes to agree after ${where}`,
    async () => {
      const listed = await home.list();
      const running = instancesOf(home.home);
      const expected = [...wanted].flatMap(([name, app]) =>
        Array.from({ length: app.instances }, () => `${name} ${app.want === 'up' ? 'online' : 'stopped'}`),
      );
      const found = listed.map((slot) => `${slot.name} ${slot.status}`);
      const listedPids = listed.map((slot) => slot.pid).filter(Boolean);
      const isSame =
        same(expected, found) &&
        same(
          listedPids,
          running.map((one) => one.pid),
        );
      if (!isSame)
        throw new Error(
          JSON.stringify({ expected, found, listedPids, running: running.map((one) => [one.pid, one.command]) }),
        );
      const keepers = home.processes().filter((one) => one.role === 'keeper');
      if (keepers.length !== 1) throw new Error(`${keepers.length} keepers`);
      return true;
    },
    { deadlineMs: 15_000 },
  );
}

/**
 * @param {(string | number)[]} one
 * @param {(string | number)[]} other
 */
function same(one, other) {
  return JSON.stringify([...one].sort()) === JSON.stringify([...other].sort());
}

/** @param {Promise<Result>} command */
async function ok(command) {
  const result = await command;
  if (result.exitStatus !== 0) throw new Error(`exit status ${result.exitStatus}: ${result.stdout}${result.stderr}`);
}
