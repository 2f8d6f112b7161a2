import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { basename, join } from 'node:path';
import { fixturePath } from '../helpers/fixtures.js';
import { takePort } from '../helpers/ports.js';
import { openSandbox } from '../helpers/sandbox.js';
import { HEALTHY, SICK } from './apps.js';
import { createDisk, createTraffic, createUpstream } from './surroundings.js';

/** @import { Trouble } from '../../lib/shared/troubles.js' */
/** @import { Sandbox } from '../helpers/sandbox.js' */
/** @import { NightApp } from './apps.js' */

/**
 * @typedef {object} Night
 * @property {Sandbox} home
 * @property {Sandbox} other  It holds the port of `port-held`.
 * @property {ReturnType<typeof createUpstream>} upstream
 * @property {ReturnType<typeof createDisk>} disk
 * @property {() => Promise<Change[]>} changes  The event log has them, oldest first.
 * @property {(...words: string[]) => Promise<void>} run
 * @property {(name: string, path: string) => Promise<unknown>} ask  Resolves with the head of the answer.
 * @property {(name: string) => string} scriptOf
 * @property {(name: string) => Promise<number>} pidOf
 * @property {(name: string) => Promise<any>} troubleOf
 * @property {() => Promise<Trouble[]>} troubles
 * @property {() => Promise<void>} close
 */

/** @typedef {{ app: string, kind: string, hasBegun: boolean, at: number }} Change */

const ALL = /** @type {NightApp[]} */ ([...SICK, ...HEALTHY]);

/**
 * Starts all apps, and their load.
 * @returns {Promise<Night>}
 */
export async function openNight() {
  const [home, other] = [openSandbox(), openSandbox()];
  const upstream = createUpstream();
  const upstreamPort = await upstream.listen();
  const disk = createDisk(join(home.work, 'disk'));
  const ports = new Map(
    await Promise.all(ALL.map(async ({ name }) => /** @type {const} */ ([name, await takePort()]))),
  );
  const held = await other.app('http-echo');
  ports.set('port-held', held.port);
  const traffic = createTraffic();
  const scriptOf = (/** @type {string} */ name) => {
    const { fixture } = /** @type {NightApp} */ (ALL.find((app) => app.name === name));
    return join(home.work, name, basename(fixture));
  };

  /** @param {NightApp} app */
  function prepare({ name, fixture, options, env }) {
    mkdirSync(join(home.work, name), { recursive: true });
    cpSync(fixturePath(fixture), scriptOf(name));
    if (fixture.endsWith('.sh'))
      cpSync(fixturePath(fixture.replace('.sh', '.js')), scriptOf(name).replace('.sh', '.js'));
    return {
      ...{ name, script: scriptOf(name), cwd: join(home.work, name) },
      ...(name === 'disk-full' ? { out_file: join(home.work, 'disk', 'out.log') } : {}),
      ...options,
      env: { ...env, PORT: String(ports.get(name)), UPSTREAM: `http://127.0.0.1:${upstreamPort}/${name}` },
    };
  }

  writeFileSync(join(home.work, 'night.json'), JSON.stringify({ apps: ALL.map(prepare) }));
  upstream.hang('waits-at-boot');
  const started = await home.nclust('start', 'night.json', '--no-wait', { timeoutMs: 120_000 });
  if (started.exitStatus !== 0) throw new Error(started.stderr);
  for (const { name, load } of ALL)
    if (load) traffic.begin(`http://127.0.0.1:${ports.get(name)}${load.path ?? '/'}`, load);

  const client = await home.connect();
  const troubles = () => client.troubles();
  return {
    ...{ home, other, upstream, disk, troubles, scriptOf },
    async changes() {
      const options = ['--nostream', '--json', '--type', 'trouble:*', '--lines', '10000'];
      const { stdout } = await home.nclust('events', ...options);
      const events = stdout
        .trimEnd()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      return events.map(({ type, ...about }) => ({ ...about, hasBegun: type === 'trouble:began' }));
    },
    async run(...words) {
      await home.nclust(...words, { timeoutMs: 120_000 });
    },
    ask: (name, path) =>
      new Promise((resolve, reject) => {
        traffic.track(get(`http://127.0.0.1:${ports.get(name)}${path}`, { agent: false }, resolve)).on('error', reject);
      }),
    pidOf: async (name) => (await home.list()).find((slot) => slot.name === name)?.pid ?? 0,
    troubleOf: async (name) => (await troubles()).find((/** @type {Trouble} */ { app }) => app === name),
    async close() {
      traffic.end();
      upstream.close();
      try {
        await home.nclust('kill');
      } finally {
        disk.remove();
      }
      await home.close();
      await other.close();
    },
  };
}
