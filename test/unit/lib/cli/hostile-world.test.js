import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProgram } from '../../../../lib/cli/program.js';
import { COMMANDS } from '../../../../lib/cli/table/commands.js';
import { renderDeployLine } from '../../../../lib/commands/deploy.js';
import { renderAttached } from '../../../../lib/commands/messages.js';
import { createPaint } from '../../../../lib/render/paint.js';
import { renderProgress } from '../../../../lib/render/progress.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { openServer } from '../rpc-server.js';
import { ANSWERS, EVENTS, evil, HOSTILE, IN_FILE, NAME } from './hostile-answers.js';

// Texts of apps, hosts and files can contain control characters. They must not reach a terminal.

const FORBIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** @type {Record<string, string[]>} */
const WORDS = {
  start: [`app.js${IN_FILE}`],
  stop: ['api'],
  restart: [`app.js${IN_FILE}`],
  reload: ['api'],
  rollback: ['api'],
  delete: ['api'],
  reset: ['api'],
  scale: ['api', '2'],
  sendSignal: ['SIGUSR2', 'api'],
  startOrRestart: ['hostile.json'],
  startOrReload: ['hostile.json'],
  validate: ['hostile.json'],
  apply: ['hostile.json'],
  diff: ['hostile.json'],
  list: [],
  jlist: [],
  prettylist: [],
  monit: [],
  web: [],
  describe: ['api'],
  why: ['all'],
  events: ['--nostream'],
  stack: ['0'],
  profile: ['0', '--output', 'out.cpuprofile'],
  pid: [],
  id: [NAME],
  env: ['0'],
  logs: ['--nostream'],
  flush: [],
  reloadLogs: [],
  send: ['0', 'x'],
  trigger: ['api', 'clear'],
  inspect: ['0'],
  set: ['logs.compress', evil('x')],
  get: [],
  unset: [evil('x')],
  conf: [],
  config: [evil('x')],
  multiset: [evil('x')],
  save: [],
  resurrect: [],
  ping: [],
  cleardump: [],
  import: ['pm2', 'dump.pm2', '--dry-run'],
  doctor: [],
  notify: ['list'],
  report: [],
  slist: [],
  examples: [],
  completion: ['words', '--', 'stop', ''],
  startup: ['systemd', '--print'],
  unstartup: ['systemd', '--print'],
};

/** Exit statuses of commands that refuse something. @type {Record<string, number>} */
const STATUS = { set: 2, config: 2, multiset: 2, trigger: 1, import: 1, diff: 2, doctor: 1 };

const QUIET = [
  'pid',
  'id',
  'get',
  'conf',
  'save',
  'ping',
  'cleardump',
  'reloadLogs',
  'completion',
  'examples',
  'import',
  'doctor',
  'slist',
  'startup',
  'unstartup',
];

/** Why a command is not run here. @type {Record<string, string>} */
const ELSEWHERE = {
  init: 'prints only its own words',
  attach: 'waits for the input of this process; its renderer is tested below',
  run: 'shows the output of its apps unchanged',
  serve: 'shows what start shows',
  deploy: 'needs hosts; its renderer is tested below',
  update: 'replaces a manager; it shows what list shows',
  kill: 'waits for the exit of a manager, and shows no other texts',
  daemon: 'writes its output to the log of a service',
};

let cwd;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'nclust-hostile-'));
  const [name, key, script] = ['api', 'K', 'app.js'].map((word) => `${word}${IN_FILE}`);
  const env = { [key]: `v${IN_FILE}` };
  writeFileSync(join(cwd, script), '');
  writeFileSync(join(cwd, 'hostile.json'), JSON.stringify({ apps: [{ name, script, env, [key]: 1 }] }));
  writeFileSync(join(cwd, 'refused.json'), JSON.stringify({ apps: [{ name: NAME, script, [NAME]: 1 }] }));
  const args = [`a b${IN_FILE}`];
  const known = { name, pm_exec_path: join(cwd, script), pm_cwd: cwd, args, exec_mode: 'fork_mode', env };
  writeFileSync(join(cwd, 'dump.pm2'), JSON.stringify([known, { ...known, name: NAME }]));
});
afterAll(() => rmSync(cwd, { recursive: true }));

async function nclust(argv, { home, colours = 0 }) {
  rmSync(join(cwd, 'out.cpuprofile'), { force: true });
  let shown = '';
  const add = (text) => {
    shown += text;
  };
  const exitStatus = await runProgram(argv, {
    print: async (text) => add(text),
    printMessage: add,
    isTTY: true,
    isTalkTTY: false,
    colourLevels: async () => ({ stdout: colours, stderr: colours }),
    columns: 200,
    talkSize: () => ({ columns: 80, rows: 24 }),
    onInterrupt: () => () => {},
    cwd,
    env: { PATH: '/usr/bin:/bin', NCLUST_HOME: home, HOME: cwd, TERM: 'xterm', [`VARIABLE${IN_FILE}`]: `x${IN_FILE}` },
    platform: 'linux',
    node: { file: process.execPath, version: process.version },
  });
  return { exitStatus, shown };
}

async function manager(changes = {}) {
  const server = await openServer({ ...ANSWERS, ...changes });
  const lines = Object.entries(EVENTS).map(([type, fields]) =>
    JSON.stringify({ at: Date.now(), type, app: NAME, namespace: evil('shop'), id: 0, slot: 0, ...fields }),
  );
  writeFileSync(join(server.home, 'events.log'), `${lines.join('\n')}\n`);
  writeFileSync(join(server.home, 'nclust.log'), `${evil('{"event":"x"}')}\n`);
  return server;
}

function expectHarmless(shown) {
  const at = FORBIDDEN.exec(shown)?.index ?? -1;
  expect(at === -1 ? null : JSON.stringify(shown.slice(Math.max(0, at - 60), at + 20))).toBe(null);
}

const withoutColours = (text) => text.replace(/\u001b\[[\d;]*m/g, '');

const hasJson = (name) =>
  COMMANDS.some((row) => row.name === name && row.options?.some(([flags]) => flags === '--json'));

const lines = Object.entries(WORDS).flatMap(([name, words]) => [
  { line: [name, ...words] },
  ...(hasJson(name) ? [{ line: [name, '--json', ...words] }] : []),
]);

test('every command is tested here, or has a reason not to be', () => {
  const names = COMMANDS.filter(({ words }) => words !== '[words...]').map(({ name }) => name);
  expect(names.filter((name) => !(name in WORDS) && !(name in ELSEWHERE))).toEqual([]);
});

describe.each(lines)('$line', ({ line }) => {
  const [name] = line;

  test('the command keeps control characters of other texts away from the terminal', async () => {
    const { home } = await manager();
    const { exitStatus, shown } = await nclust(line, { home });
    expect({ shown, exitStatus }, shown).toMatchObject({ exitStatus: STATUS[name] ?? 0 });
    if (!QUIET.includes(name)) expect(shown).toMatch(/\?|\\u009b|\\x9B/);
    // A log line keeps the colours of the app.
    expectHarmless(name === 'logs' ? withoutColours(shown) : shown);
    const { shown: coloured } = await nclust(line, { home, colours: 1 });
    expectHarmless(withoutColours(coloured));
  });

  test('the command keeps control characters of an error away from the terminal', async () => {
    const fail = () => {
      throw new NclustError('ERR_NCLUST_NOT_UP', evil('Start failed:\nno'), {
        hint: evil('Look.'),
        data: {
          lastLines: [evil('x')],
          slots: [{ id: 0, name: NAME, slot: 0, reason: evil('crashed'), lastLines: [evil('y')] }],
        },
      });
    };
    const { home } = await manager(Object.fromEntries(Object.keys(ANSWERS).map((method) => [method, fail])));
    expectHarmless((await nclust(line, { home })).shown);
  });
});

test.each([
  ['logs', '--nostream', '--format'],
  ['logs', '--nostream', '--timestamp', '--highlight', 'line'],
  ['list', '--group'],
  ['list', '--mini-list'],
  ['env', '0', '--diff'],
  ['slist', '--tree'],
  ['validate', 'refused.json'],
  ['start', evil('absent.js')],
  ['stop', evil('nobody')],
  [evil('word')],
  ['list', `--${HOSTILE}`],
])('%s %s keeps control characters away from the terminal', async (...line) => {
  const { home } = await manager();
  expectHarmless(withoutColours((await nclust(line, { home })).shown));
});

test('lines of hosts and of an attached app can only colour a terminal', () => {
  const view = { columns: 80, isTerminal: true, paint: createPaint(0), nowMs: 0, options: {} };
  const entry = { id: 0, name: NAME, stream: 'out', line: evil('hi'), atMs: 1 };
  const shown =
    renderAttached({ entries: [entry] }, view) +
    renderDeployLine({ host: evil('host'), isLabelled: true, text: evil('hi') }, view);
  expect(shown).toContain('\u001b[31m');
  expectHarmless(withoutColours(shown));
});

test('the progress of a command keeps control characters away from the terminal', () => {
  const waiting = [{ id: 0, name: NAME, slot: 0, phase: 'soaking', forMs: 1, leftMs: 1, detail: evil('x') }];
  const shown = { doing: evil('Reloading'), forMs: 1, ageMs: 1, progress: { token: 't', done: 0, total: 1, waiting } };
  expectHarmless(renderProgress(shown, { columns: 200, rows: 24, paint: createPaint(0) }).join(''));
});
