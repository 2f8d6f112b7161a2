import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSandbox } from '../../../helpers/sandbox.js';
import { printed, QUICK, refused, said } from './expected.js';

// These tests only read, so they share a home.
let home;
let slots;

const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'));

beforeAll(async () => {
  home = openSandbox();
  const script = home.place('runs-code');
  const code = 'say("out line"); console.error("error line"); setInterval(() => {}, 1e6);';
  await home.nclust(
    'start',
    script,
    '--name',
    'beta',
    '-i',
    '2',
    '--namespace',
    'shop',
    '--cron',
    '0 3 * * *',
    '--max-memory-restart',
    '300M',
    '-l',
    ...QUICK,
    { env: { CODE: code, COLOUR: 'green', NODE_ENV: 'production' } },
  );
  await home.nclust('start', script, '--name', 'alpha', '--no-autostart', '--', '--flag', { env: { CODE: code } });
  slots = await home.list();
  await home.waitFor('the output of both instances', () =>
    slots
      .slice(0, 2)
      .every(
        ({ outFile, errorFile }) =>
          /out line/.test(readFileSync(outFile, 'utf8')) && /error line/.test(readFileSync(errorFile, 'utf8')),
      ),
  );
});

afterAll(() => home.close());

const rowsOf = (table) => [...table.matchAll(/^│ (\d+) +│ (\w+)/gm)].map(([, id, name]) => `${id} ${name}`);

test.each(['list', 'ls', 'l', 'ps', 'status'])('%s shows the columns of PM2, sorted by name', async (command) => {
  const result = await home.nclust(command);
  expect(result).toMatchObject(printed(/^┌/));
  const [head] = result.stdout.split('\n').slice(1);
  expect(
    head
      .split('│')
      .map((title) => title.trim())
      .filter(Boolean),
  ).toEqual([
    'id',
    'name',
    'namespace',
    'version',
    'mode',
    'pid',
    'uptime',
    '↺',
    'status',
    'cpu',
    'mem',
    'user',
    'watching',
  ]);
  expect(rowsOf(result.stdout)).toEqual(['2 alpha', '0 beta', '1 beta']);
  expect(result.stdout).toMatch(/│ 2 +│ alpha +│ default +│ N\/A +│ fork +│ N\/A +│ 0 +│ 0 +│ stopped +│ 0% +│ 0b +│/);
  expect(result.stdout).toMatch(
    new RegExp(
      `│ 0 +│ beta +│ shop +│ N/A +│ cluster +│ ${slots[0].pid} +│ \\d+[sm] +│ 0 +│ online +│ [\\d.]+% +│ ` +
        `[\\d.]+mb +│ \\w+ +│ disabled +│`,
    ),
  );
});

test.each([
  ['name', ['2 alpha', '0 beta', '1 beta']],
  ['name:desc', ['0 beta', '1 beta', '2 alpha']],
  ['id', ['0 beta', '1 beta', '2 alpha']],
  ['id:desc', ['2 alpha', '1 beta', '0 beta']],
  ['namespace', ['2 alpha', '0 beta', '1 beta']],
  ['status:desc', ['2 alpha', '0 beta', '1 beta']],
])('list --sort %s sorts the rows', async (field, order) => {
  const result = await home.nclust('ls', '--sort', field);
  expect(result).toMatchObject(printed(/online/));
  expect(rowsOf(result.stdout)).toEqual(order);
});

test.each(['pid', 'cpu', 'memory', 'uptime'])('list --sort %s sorts by number', async (field) => {
  const result = await home.nclust('list', '--sort', `${field}:desc`);
  expect(result).toMatchObject(printed(/online/));
  expect(rowsOf(result.stdout).toSorted()).toEqual(['0 beta', '1 beta', '2 alpha']);
  if (field !== 'cpu') expect(rowsOf(result.stdout).at(-1)).toBe('2 alpha');
});

test('list --sort by an unknown column is refused', async () => {
  expect(await home.nclust('list', '--sort', 'colour')).toMatchObject(
    refused(2, '--sort is "colour"; accepted: name, namespace, pid, id, cpu, memory, uptime, status'),
  );
});

test.each(['-m', '--mini-list'])('list %s prints a block for each process', async (flag) => {
  const result = await home.nclust('list', flag);
  expect(result).toMatchObject(printed(/^\+--- alpha\n/));
  const blocks = result.stdout
    .split('+--- ')
    .filter(Boolean)
    .map((block) =>
      Object.fromEntries(
        block
          .split('\n')
          .slice(1, -1)
          .map((line) => line.split(' : ')),
      ),
    );
  expect(blocks[1]).toMatchObject({
    namespace: 'shop',
    version: 'N/A',
    pid: String(slots[0].pid),
    'pm2 id': '0',
    status: 'online',
    mode: 'cluster',
    restarted: '0',
    'error log': slots[0].errorFile,
    watching: 'no',
    'PID file': slots[0].pidFile,
  });
  expect(Object.keys(blocks[1])).toEqual([
    'namespace',
    'version',
    'pid',
    'pm2 id',
    'status',
    'mode',
    'restarted',
    'uptime',
    'memory usage',
    'error log',
    'watching',
    'PID file',
  ]);
});

test('list --no-color and a list in a pipe print no colours', async () => {
  for (const words of [['list', '--no-color'], ['--no-color', 'list'], ['list']])
    expect((await home.nclust(...words)).stdout).not.toContain('\u001b');
});

test.each(['describe', 'desc', 'info', 'show'])('%s shows the rows of PM2', async (command) => {
  const result = await home.nclust(command, '0');
  expect(result).toMatchObject(printed(/^Process 0: beta\n/));
  const rows = Object.fromEntries(
    [...result.stdout.matchAll(/^│ ([^│]+?) +│ ([^│]*?) +│$/gm)].map(([, key, value]) => [key, value]),
  );
  expect(rows).toMatchObject({
    status: 'online',
    name: 'beta',
    namespace: 'shop',
    version: 'N/A',
    restarts: '0',
    uptime: expect.stringMatching(/^\d+[sm]$/),
    'entire log path': slots[0].logFile,
    'script path': slots[0].script,
    'script args': 'N/A',
    'error log path': slots[0].errorFile,
    'out log path': slots[0].outFile,
    'pid path': slots[0].pidFile,
    interpreter: expect.stringContaining('node'),
    'interpreter args': 'N/A',
    'script id': '0',
    'exec cwd': home.work,
    'exec mode': 'cluster_mode',
    'node.js version': process.version.slice(1),
    'node env': 'production',
    'watch & reload': expect.any(String),
    'unstable restarts': '0',
    'created at': expect.stringMatching(/^\d\d:\d\d:\d\d$/),
    'cron restart': expect.stringMatching(/^0 3 \* \* \*/),
    'max memory restart': expect.stringMatching(/^300\.0mb/),
  });
  expect(result.stdout).toMatch(/\+ COLOUR=green {2}\(shell at start\)/);
  expect((await home.nclust(command, 'alpha')).stdout).toMatch(/│ script args +│ --flag +│/);
});

test('env prints the variables of an instance', async () => {
  const result = await home.nclust('env', '1');
  expect(result).toMatchObject(printed(/^COLOUR: green$/m));
  expect(result.stdout).toMatch(/^pm_id: 1$/m);
});

test('ping, --version and --help print their answer, and an unknown command or option is refused', async () => {
  const { keeperPid, controlPid } = await home.daemon();
  expect(await home.nclust('ping')).toMatchObject(
    printed(`pong: nclust ${version}, keeper pid ${keeperPid}, control pid ${controlPid}\n`),
  );
  for (const flag of ['-v', '--version']) expect(await home.nclust(flag)).toMatchObject(printed(`${version}\n`));
  for (const flag of ['-h', '--help'])
    expect(await home.nclust(flag)).toMatchObject(printed(/^Usage: nclust <command>.*^ {2}list /ms));
  for (const words of [
    ['start', '-h'],
    ['start', '--help'],
    ['help', 'start'],
  ])
    expect(await home.nclust(...words)).toMatchObject(printed(/^Usage: nclust start .*--max-memory-restart <size>/s));
  expect(await home.nclust('lits')).toMatchObject(refused(2, "unknown command 'lits'"));
  expect(await home.nclust('list', '--colour')).toMatchObject(refused(2, "unknown option '--colour'"));
});

test.each(['monit', 'dashboard', 'dash'])('%s prints one picture if there is no terminal', async (command) => {
  expect(await home.nclust(command)).toMatchObject(printed(/^cpu .* load .*│ 0 .*online/s));
});

const linesOf = (text) => text.trimEnd().split('\n').sort();

test.each(['logs', 'log'])(
  '%s takes --lines, --raw, --out, --err, --json, --format, --timestamp, --nostream and --highlight',
  async (command) => {
    const logs = (...words) => home.nclust(command, ...words, '--nostream');
    const raw = await logs('beta', '--raw', '--lines', '1');
    expect(raw).toMatchObject(printed(/line/));
    expect(linesOf(raw.stdout)).toEqual(['error line', 'error line', 'runs-code out line', 'runs-code out line']);
    expect(await logs('0', '--raw', '--out')).toMatchObject(printed('runs-code out line\n'));
    expect(await logs('0', '--raw', '--err')).toMatchObject(printed('error line\n'));
    expect(await logs('/^bet/', '--lines', '0')).toMatchObject(printed(''));
    const json = await logs('shop', '--json', '--err');
    expect(json).toMatchObject(printed(/^\{/));
    expect(linesOf(json.stdout).map((line) => JSON.parse(line))).toEqual(
      [0, 1]
        .map((id) => ({
          message: 'error line',
          timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
          type: 'err',
          process_id: id,
          app_name: 'beta',
        }))
        .map((one) => expect.objectContaining({ ...one, process_id: expect.any(Number) })),
    );
    expect(await logs('1', '--format', '--out')).toMatchObject(
      printed(/^timestamp=\S+ app=beta id=1 type=out message=runs-code out line\n$/),
    );
    expect(await logs('1', '--timestamp', 'YYYY', '--out')).toMatchObject(
      printed(/^20\d\d 1\|beta +\| runs-code out line\n$/),
    );
    expect(await logs('1', '--highlight', 'out', '--out')).toMatchObject(printed(/^1\|beta +\| runs-code out line\n$/));
    expect(await logs('alpha')).toMatchObject(said(/"alpha"/));
  },
);

test('logs without --nostream follows the log until Ctrl-C', async () => {
  const following = home.follow('logs', 'beta', '--raw', '--out');
  await home.waitFor(
    'the lines of both instances',
    () => following.stdout() === 'runs-code out line\nruns-code out line\n',
  );
  following.child.kill('SIGINT');
  expect((await following.done).stderr).toBe('');
});
