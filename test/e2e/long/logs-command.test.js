import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const BIN = fileURLToPath(new URL('../../../bin/nclust.js', import.meta.url));

const TICKS = 'let n = 0; setInterval(() => console.log("tick " + ++n), 3);';

const program = (home, name, code, flags = []) =>
  home.nclust('start', home.place('runs-code'), '--name', name, ...flags, { env: { CODE: code } });

const linesOf = (text) => text.split('\n').filter(Boolean);

const numbersOf = (lines) => lines.map((line) => Number(/^tick (\d+)$/.exec(line)?.[1]));

test('logs continues after a kill of control without losing or repeating a line', async () => {
  const home = await sandbox();
  await program(home, 'ticker', TICKS);
  const following = home.follow('logs', 'ticker', '--raw', '--lines', '1');
  await home.waitFor('the first lines', () => linesOf(following.stdout()).length > 20);
  for (let round = 0; round < 3; round++) {
    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
    const before = linesOf(following.stdout()).length;
    await home.waitFor('new lines', () => linesOf(following.stdout()).length > before + 50, { deadlineMs: 20_000 });
  }
  following.child.kill('SIGINT');
  const { stdout, stderr } = await following.done;
  const numbers = numbersOf(linesOf(stdout.slice(0, stdout.lastIndexOf('\n'))));
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => numbers[0] + at));
  expect(stderr).not.toMatch(/cannot be shown|left out/);
});

test('logs shows the lines of several apps in order of time', async () => {
  const home = await sandbox();
  const code =
    'let n = 0; const timer = setInterval(() => { say(++n); if (n === 20) clearInterval(timer); }, 15); ' +
    'setInterval(() => {}, 1 << 30);';
  await program(home, 'one', code);
  await program(home, 'two', code);
  await home.waitFor(
    'all lines of both apps',
    async () => linesOf((await home.nclust('logs', '--nostream', '--raw', '--lines', '100')).stdout).length === 40,
  );
  const { stdout } = await home.nclust('logs', '--nostream', '--json', '--lines', '100');
  const records = linesOf(stdout).map((line) => JSON.parse(line));
  const times = records.map(({ timestamp }) => Date.parse(timestamp));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  for (const name of ['one', 'two'])
    expect(records.filter(({ app_name: app }) => app === name).map(({ message }) => message)).toEqual(
      Array.from({ length: 20 }, (_, at) => `runs-code ${at + 1}`),
    );
});

test('logs filters by pattern, level, stream and time', async () => {
  const home = await sandbox();
  const code = `
    for (let n = 1; n <= 100; n++)
      console.log(JSON.stringify({ level: n % 10 === 0 ? 50 : 30, time: Date.now(), msg: 'request ' + n }));
    console.error('plain Timeout on stderr');
    setInterval(() => {}, 1 << 30);`;
  await program(home, 'api', code);
  const messages = async (...words) =>
    linesOf((await home.nclust('logs', 'api', '--nostream', '--json', ...words)).stdout).map(
      (line) => JSON.parse(line).message,
    );
  await home.waitFor('all lines of the app', async () => (await messages('--err')).length === 1);
  expect((await messages('--level', 'error')).map((line) => JSON.parse(line).msg)).toEqual(
    Array.from({ length: 10 }, (_, at) => `request ${(at + 1) * 10}`),
  );
  expect(await messages('--grep', '/time.?out/i')).toEqual(['plain Timeout on stderr']);
  expect((await messages('--grep', 'request', '--lines', '2')).map((line) => JSON.parse(line).msg)).toEqual([
    'request 99',
    'request 100',
  ]);
  expect(await messages('--since', '1h')).toHaveLength(101);
  expect(await messages('--until', '1h')).toEqual([]);
  expect(await home.nclust('logs', 'api', '--nostream', '--until', '1h')).toEqual(
    expect.objectContaining({ exitStatus: 0, stdout: '', stderr: 'No line of "api" matches.\n' }),
  );
});

test.each([
  ['kept lines', '--nostream --lines 5000'],
  ['followed lines', '--lines 10'],
])('logs exits cleanly when its reader has seen enough %s', async (_what, words) => {
  const home = await sandbox();
  await program(home, 'ticker', TICKS);
  const script = `'${nodeUnderTest()}' '${BIN}' logs --json ${words} | head -1; echo "status \${PIPESTATUS[0]}"`;
  const result = await runProgram('bash', ['-c', script], { env: home.env, cwd: home.work }).done;
  expect(result).toMatchObject({ exitStatus: 0, stderr: '' });
  expect(result.stdout).toMatch(/^\{"message":"tick \d+".*\}\nstatus 0\n$/);
});

test('a reader that stops reading uses no memory, and later gets the number of dropped lines', async () => {
  const LINES = 200_000;
  const home = await sandbox();
  const code = `
    let ends = 0;
    process.on('SIGUSR2', () => {
      for (let n = 1; n <= ${LINES}; n++) process.stdout.write('line ' + n + ' ' + 'x'.repeat(200) + '\\n');
      require('fs').writeFileSync('flooded', '');
    });
    process.on('SIGUSR1', () => process.stdout.write('end ' + ++ends + '\\n'));
    process.stdout.write('first\\n');
    setInterval(() => {}, 1 << 30);`;
  await program(home, 'flood', code);
  const [{ pid }] = await home.list();
  const following = home.follow('logs', 'flood', '--raw', '--lines', '1', { timeoutMs: 120_000 });
  await home.waitFor('the first line', () => following.stdout() === 'first\n');
  following.child.stdout?.pause();
  process.kill(pid, 'SIGUSR2');
  await home.waitFor('the app to write all lines', () => existsSync(join(home.work, 'flooded')), {
    deadlineMs: 40_000,
  });
  const rssKb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${following.child.pid}/status`, 'utf8'))?.[1]);
  expect(rssKb).toBeLessThan(150_000);

  following.child.stdout?.resume();
  // Makes the app write another line, because nclust reports the number of dropped lines with the
  // next line.
  await home.waitFor(
    'a line after the flood',
    () => {
      const [, number] = /\nend (\d+)\n$/.exec(following.stdout().slice(-100)) ?? [];
      if (!number) process.kill(pid, 'SIGUSR1');
      return Number(number);
    },
    { deadlineMs: 40_000 },
  );
  following.child.kill('SIGINT');
  const { stdout, stderr } = await following.done;
  const lines = linesOf(stdout);
  const missed = [...stderr.matchAll(/^(\d+) lines? w\w+ left out: this terminal reads too slowly\.$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
  const ends = Number(/^end (\d+)$/.exec(lines.at(-1) ?? '')?.[1]);
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines.length + missed).toBe(1 + LINES + ends);
}, 120_000);

const LENGTHS = [1, 65_535, 65_536, 65_537, 200_000, 1_000_000, 5_000_000];

describe.each([['raw'], ['with dates', '--time']])('lines of up to 5 MB (%s)', (_how, ...flags) => {
  const lengthOf = (line) => /x*é?$/.exec(line)[0].length;
  const code = `
    const print = (length) => say('x'.repeat(length - 1) + 'é');
    print(${LENGTHS.at(-1)});
    process.stdin.once('data', () => ${JSON.stringify(LENGTHS.slice(0, -1))}.forEach(print));`;

  test('a long line is one line and one record in logs, in a pipe, and while following', async () => {
    const home = await sandbox();
    await program(home, 'ticker', TICKS);
    await program(home, 'long', `setInterval(() => {}, 1e6); ${code}`, flags);
    const following = home.follow('logs', 'long', 'ticker', '--lines', '0', '--json');
    const followed = () => linesOf(following.stdout().slice(0, following.stdout().lastIndexOf('\n')));
    await home.waitFor('the ticks', () => followed().length > 0);
    // Control drops live lines for a slow reader, so these lines are less than it keeps.
    await home.nclust('send', 'long', 'go');
    const whole = () => followed().filter((line) => !line.includes('tick'));
    await home.waitFor('every line', () => whole().length === LENGTHS.length - 1);
    following.child.kill('SIGINT');
    await following.done;
    expect(whole().map((line) => lengthOf(JSON.parse(line).message))).toEqual(LENGTHS.slice(0, -1));
    for (const options of [['--raw'], []]) {
      const { stdout } = await home.nclust('logs', 'long', '--nostream', ...options);
      expect(linesOf(stdout).map(lengthOf)).toEqual([LENGTHS.at(-1), ...LENGTHS.slice(0, -1)]);
    }
    const { stdout } = await home.nclust('logs', 'long', '--nostream', '--json', '--lines', '7');
    const records = linesOf(stdout).map((line) => JSON.parse(line));
    expect(records.map(({ message, part }) => [lengthOf(message), part])).toEqual(
      [LENGTHS.at(-1), ...LENGTHS.slice(0, -1)].map((length) => [length, undefined]),
    );
  });
});

test.each([['--raw'], ['--json']])(
  'run %s prints lines of up to 5 MB whole, also beside another app',
  async (shape) => {
    const home = await sandbox();
    const code = `
    const end = setInterval(() => say('tick'), 1);
    for (const length of ${JSON.stringify(LENGTHS)}) process.stdout.write('x'.repeat(length) + '\\n');
    setTimeout(() => process.exit(), 200);`;
    const apps = ['one', 'two'].map((name) => ({
      name,
      script: home.place('runs-code'),
      autorestart: false,
      env: { CODE: code },
    }));
    writeFileSync(join(home.work, 'apps.json'), JSON.stringify({ apps }));
    const { stdout, exitStatus } = await home.nclust('run', 'apps.json', shape);
    const lines = linesOf(stdout).map((line) => (shape === '--json' ? JSON.parse(line).message : line));
    const lengths = lines.filter((line) => /^x+$/.test(line)).map(({ length }) => length);
    expect([exitStatus, lengths.sort((a, b) => a - b)]).toEqual([0, [...LENGTHS, ...LENGTHS].sort((a, b) => a - b)]);
    expect(lines.filter((line) => !/^(x+|runs-code tick)$/.test(line))).toEqual([]);
  },
);
