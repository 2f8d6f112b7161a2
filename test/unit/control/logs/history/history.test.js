import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendHistory } from '../../../../../daemon/control/logs/history/history.js';
import { timesFilePath } from '../../../../../daemon/control/logs/times/format.js';
import { createLogRig } from '../log-rig.js';

let rig;
let file;

beforeEach(() => {
  rig = createLogRig();
  file = rig.path('a');
});
afterEach(() => rig.close());

const numbered = (from, to) => Array.from({ length: to - from }, (_, at) => `line ${from + at}`);
const textOf = (lines) => lines.map((line) => `${line}\n`).join('');

async function shown(query, names = ['a']) {
  const client = rig.reader(names);
  await client.look(query, { follow: false });
  return client.entries.map(({ line }) => line);
}

function later(ms, name, text) {
  rig.nowMs += ms;
  rig.write(name, text);
}

describe('the last lines of a file', () => {
  test.each([
    ['', 3, []],
    ['a\nb\nc\nd\n', 3, ['b', 'c', 'd']],
    ['a\nb\nc', 2, ['b', 'c']],
    ['a\r\nb\r\n', 5, ['a', 'b']],
    ['\n\n\n', 2, ['', '']],
    ['a\n', 0, []],
  ])('the last lines of %j are, for %i, %j', async (text, lines, expected) => {
    writeFileSync(file, text);
    expect(await shown({ lines })).toEqual(expected);
  });

  test('the last lines are read whole across blocks', async () => {
    writeFileSync(file, textOf(numbered(0, 50_000)));
    expect(await shown({ lines: 20_000 })).toEqual(numbered(30_000, 50_000));
  });

  test('the last lines stop before the start of a huge line', async () => {
    writeFileSync(file, Buffer.alloc(40 * 1024 * 1024, 0x78));
    expect((await shown({ lines: 1 })).join('').length).toBeLessThan(17_000_000);
  });

  test.each([65_536, 65_537, 131_072, 200_000, 1_000_000])('a line of %i bytes is counted once', async (length) => {
    const long = 'x'.repeat(length);
    writeFileSync(file, textOf([long, 'a', long, 'b']));
    const client = rig.reader(['a']);
    await client.look({ lines: 3 }, { follow: false });
    const [first, ...others] = client.entries
      .map(({ line, part }) => (part ? line : `${line}\n`))
      .join('')
      .match(/.+\n/g);
    expect([first, ...others]).toEqual(['a\n', `${long}\n`, 'b\n']);
  });

  test('the last lines end a line of many parts correctly, and break no character', async () => {
    writeFileSync(file, `${'€'.repeat(300_000)}end\n`);
    const text = (await shown({ lines: 3 })).join('');
    expect(text).toMatch(/^€+end$/);
  });

  test('the last lines do not need a read of all of a file of 100 MB', async () => {
    const fd = openSync(file, 'w');
    writeSync(fd, 'first\n');
    writeSync(fd, textOf(numbered(0, 100)), 100 * 1024 * 1024);
    closeSync(fd);
    const before = readBytes();
    expect(await shown({ lines: 15 })).toEqual(numbered(85, 100));
    expect(readBytes() - before).toBeLessThan(1024 * 1024);
  });

  test.each([
    ['none', () => {}],
    ['a folder', () => mkdirSync(file)],
    ['a pipe', () => execFileSync('mkfifo', [file])],
  ])('the last lines are empty at once if there is %s', async (_, make) => {
    make();
    expect(await shown({ lines: 5 })).toEqual([]);
  });

  test('the last lines continue in segments, plain and compressed, as far as needed', async () => {
    rig.maxSizeBytes = 150;
    for (const line of numbered(0, 100)) later(1, 'a', `${line}\n`);
    const segments = rig.segments('a');
    expect(segments.length).toBeGreaterThan(3);
    for (const segment of segments.slice(0, -1)) rig.compress(segment);
    expect(await shown({ lines: 60 })).toEqual(numbered(40, 100));
    expect(await shown({ lines: 3 })).toEqual(numbered(97, 100));
    expect(await shown({ lines: 1_000 })).toEqual(numbered(0, 100));
  });
});

describe('several files', () => {
  test('several files are merged by time, with the last lines of each', async () => {
    for (let at = 0; at < 50; at++) later(20, ['a', 'b', 'c'][at % 3], `line ${at}\n`);
    expect(await shown({ lines: 5 }, ['a', 'b', 'c'])).toEqual(numbered(35, 50));
  });

  test('the lines of 600 files are merged at once, over their segments, with few of them open', async () => {
    const names = Array.from({ length: 600 }, (_, at) => `app${at}`);
    const line = (at) => `${at}`.padStart(60, '.');
    for (let at = 0; at < 6; at++)
      for (const name of names) writeFileSync(rig.path(name), `${line(at)}\n`, { flag: 'a' });
    names.forEach((name, at) => utimesSync(rig.path(name), at + 1, at + 1));
    const files = () => readdirSync('/proc/self/fd').length;
    const before = files();
    let most = 0;
    const client = rig.reader(names, async () => {
      most = Math.max(most, files());
    });
    await client.look({ lines: 3 }, { follow: false });
    expect(client.entries.map(({ name }) => name)).toEqual(names.flatMap((name) => [name, name, name]));
    expect(most - before).toBeLessThan(200);
    expect(files()).toBeLessThanOrEqual(before);
  });

  test('several files use the time of the last change for a file without times, and report no time', async () => {
    later(0, 'a', 'early\n');
    later(2_000, 'a', 'late\n');
    writeFileSync(rig.path('b'), 'old\nolder\n');
    utimesSync(rig.path('b'), (rig.nowMs - 1_000) / 1_000, (rig.nowMs - 1_000) / 1_000);
    const client = rig.reader(['a', 'b']);
    await client.look({ lines: 15 }, { follow: false });
    expect(client.entries.map(({ line, atMs }) => [line, atMs])).toEqual([
      ['early', rig.nowMs - 2_000],
      ['old', null],
      ['older', null],
      ['late', rig.nowMs],
    ]);
  });
});

describe('filtered lines', () => {
  beforeEach(() => {
    rig.maxSizeBytes = 400;
    for (let at = 0; at < 90; at++) later(1_000, ['a', 'b'][at % 2], `line ${at}\n`);
    for (const name of ['a', 'b']) for (const segment of rig.segments(name).slice(0, -1)) rig.compress(segment);
  });
  const both = ['a', 'b'];
  const atOf = (line) => rig.nowMs - (89 - line) * 1_000;

  test('filtered lines are selected by since and until', async () => {
    expect(await shown({ sinceMs: atOf(20), untilMs: atOf(70) }, both)).toEqual(numbered(20, 71));
    expect(await shown({ sinceMs: atOf(20) + 1, untilMs: atOf(70) - 1 }, both)).toEqual(numbered(21, 70));
    expect(await shown({ sinceMs: atOf(89) + 1 }, both)).toEqual([]);
    expect(await shown({ sinceMs: 1 }, both)).toEqual(numbered(0, 90));
  });

  test('filtered lines are the last lines within since and until', async () => {
    expect(await shown({ lines: 2, untilMs: atOf(49) }, both)).toEqual(numbered(46, 50));
    expect(await shown({ lines: 40, sinceMs: atOf(80) }, both)).toEqual(numbered(80, 90));
  });

  test('filtered lines count only matching lines, and the limit applies to all files together', async () => {
    const isWanted = (line) => line.endsWith('7');
    expect(await shown({ lines: 3, isWanted }, both)).toEqual(['line 67', 'line 77', 'line 87']);
    expect(await shown({ lines: 100, isWanted }, both)).toEqual(
      [7, 17, 27, 37, 47, 57, 67, 77, 87].map((at) => `line ${at}`),
    );
    expect(await shown({ lines: 4, isWanted: (line) => /[12]$/.test(line) }, both)).toEqual([
      'line 71',
      'line 72',
      'line 81',
      'line 82',
    ]);
  });

  test('filtered lines do not include a part of an earlier line', async () => {
    rig.write('a', 'begun ');
    later(5_000, 'a', 'ended\n');
    later(0, 'a', 'new\n');
    expect(await shown({ sinceMs: rig.nowMs - 1_000 })).toEqual(['new']);
  });
});

describe('torn files and garbage', () => {
  const garbage = Buffer.from(Array.from({ length: 500 }, (_, at) => (at * 197 + 31) % 256));

  test.each([
    ['empty', () => Buffer.alloc(0)],
    ['garbage', () => garbage],
    ['torn in its first line', (bytes) => bytes.subarray(0, 20)],
  ])('a times file that is %s is ignored', async (_, spoil) => {
    later(0, 'a', 'one\n');
    const times = timesFilePath(rig.timesFolder, file);
    writeFileSync(times, spoil(readFileSync(times)));
    expect(await shown({ lines: 15 })).toEqual(['one']);
  });

  test('a times file that is torn at its end is right up to there', async () => {
    for (const at of [0, 1, 2]) later(2_000, 'a', `line ${at}\n`);
    const times = timesFilePath(rig.timesFolder, file);
    truncateSync(times, statSync(times).size - 1);
    const client = rig.reader(['a']);
    await client.look({}, { follow: false });
    expect(client.entries.map(({ line, atMs }) => [line, rig.nowMs - atMs])).toEqual([
      ['line 0', 4_000],
      ['line 1', 2_000],
      ['line 2', 2_000],
    ]);
  });

  test.each([
    ['torn', (bytes) => gzipSync(bytes).subarray(0, -15)],
    ['no gzip', () => garbage],
    ['empty', () => Buffer.alloc(0)],
  ])('a compressed segment that is %s does not end the history', async (_, toBytes) => {
    rig.maxSizeBytes = 100;
    for (const line of numbered(0, 30)) later(1, 'a', `${line}\n`);
    const [first, second, ...others] = rig.segments('a');
    rig.compress(second, toBytes);
    const lines = await shown({});
    const whole = [first, ...others]
      .flatMap(({ path }) => readFileSync(path, 'utf8').split('\n').slice(0, -1))
      .concat(readFileSync(file, 'utf8').split('\n').slice(0, -1));
    expect(lines).toEqual(expect.arrayContaining(whole));
  });

  test('bytes that are not text are shown', async () => {
    writeFileSync(file, Buffer.concat([garbage, Buffer.from('\nend\n')]));
    expect(await shown({ lines: 1 })).toEqual(['end']);
    expect((await shown({})).length).toBeGreaterThan(1);
  });
});

describe('resuming from a cursor', () => {
  test('resuming into a removed segment reports a gap and sends the rest', async () => {
    rig.maxSizeBytes = 100;
    const client = rig.reader(['a']);
    for (const line of numbered(0, 5)) later(1, 'a', `${line}\n`);
    await client.look();
    client.leave();
    for (const line of numbered(5, 60)) later(1, 'a', `${line}\n`);
    for (const { path } of rig.segments('a').slice(0, -1)) rmSync(path);
    const answer = await client.look();
    expect([answer.isGap, client.gaps, client.gapOf]).toEqual([true, 1, ['a']]);
    const numbers = client.lines('a').map((line) => Number(line.slice(5)));
    expect(numbers.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
    expect(numbers.slice(5)).toEqual(numbered(numbers[5], 60).map((line) => Number(line.slice(5))));
    expect(numbers[5]).toBeGreaterThan(5);
  });

  test('resuming into an emptied file reports a gap', async () => {
    const client = rig.reader(['a']);
    later(1, 'a', 'one\ntwo\n');
    await client.look();
    client.leave();
    await rig.fileAt(file).truncate();
    later(1, 'a', 'three\n');
    expect((await client.look()).isGap).toBe(true);
    expect(client.lines('a')).toEqual(['one', 'two', 'three']);
  });

  test('resuming from a cursor sends a new file from its beginning', async () => {
    const client = rig.reader(['a', 'b']);
    later(1, 'a', 'one\n');
    await client.look();
    client.leave();
    later(5, 'b', 'two\n');
    rig.restart();
    await client.look();
    later(5, 'b', 'three\n');
    expect([client.gaps, client.lines('b')]).toEqual([0, ['two', 'three']]);
  });

  test('resuming from a cursor works for a file from before there were times', async () => {
    writeFileSync(file, 'old\n');
    const client = rig.reader(['a']);
    await client.look();
    client.leave();
    later(1, 'a', 'new\n');
    await client.look();
    expect([client.gaps, client.lines('a')]).toEqual([0, ['old', 'new']]);
  });
});

test('a slow reader learns how many lines it missed, and continues with new lines', async () => {
  rig.maxSizeBytes = 50 * 1024 * 1024;
  const line = 'x'.repeat(999);
  let written = 0;
  const flood = (lines) => {
    written += lines;
    rig.write('a', `${line}\n`.repeat(lines));
  };
  flood(300);
  const client = rig.reader(['a'], async () => flood(300));
  await client.look({ lines: 100 });
  flood(1);
  expect(client.entries.length).toBeLessThan(written);
  expect(client.entries.length + client.missed).toBe(written - 200);
  expect(client.missedOf).toEqual({ a: client.missed });
});

test('a reader of the history gets nothing written after its request, even across a rotation', async () => {
  for (const rotates of [false, true]) {
    rig.write('a', textOf(numbered(0, 50_000)));
    const looking = shown({ lines: 30_000 });
    if (rotates) rig.maxSizeBytes = 1_000;
    rig.write('a', textOf(numbered(50_000, 50_100)));
    await new Promise((resolve) => void setImmediate(resolve));
    rig.write('a', textOf(numbered(50_100, 50_200)));
    expect(rig.segments('a').length > 0).toBe(rotates);
    expect(await looking).toEqual(numbered(20_000, 50_000));
    rig.maxSizeBytes = 10 * 1024 * 1024;
  }
});

test('a line that two instances write to one file at the same time is kept, whichever ends first', async () => {
  const client = rig.reader(['a']);
  rig.write('a', 'first ', 'one');
  rig.write('a', 'second ', 'two');
  await client.look();
  rig.write('a', 'ends\n', 'two');
  rig.write('a', 'ends\n', 'one');
  expect(client.lines('a')).toEqual(['second ends', 'first ends']);
});

function readBytes() {
  return Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

test('times files are not part of the history', () => {
  later(0, 'a', 'one\n');
  expect(readdirSync(rig.timesFolder)).toEqual([timesFilePath('', file)]);
  expect(readFileSync(join(rig.timesFolder, timesFilePath('', file)), 'utf8')).toContain(JSON.stringify(file));
});

test('a file that another program truncated is not a gap, and no line is sent twice', async () => {
  const client = rig.reader(['a']);
  rig.write('a', 'one\n');
  await client.look();
  later(2_000, 'a', 'two\n');
  truncateSync(file);
  later(2_000, 'a', 'three\n');
  client.leave();
  await client.look();
  expect([client.lines('a'), client.gaps]).toEqual([['one', 'two', 'three'], 0]);
});

test('a client that leaves while a new app starts gets none of its lines', async () => {
  const stop = new AbortController();
  let looks = 0;
  let isAttached = false;
  const files = () => {
    looks += 1;
    if (looks === 3) stop.abort();
    return looks < 3 ? [] : [rig.kept('a')];
  };
  const query = { lines: null, sinceMs: 0, untilMs: Infinity, isWanted: null, cursor: null };
  const attach = () => {
    isAttached = true;
  };
  await sendHistory({
    files,
    query,
    source: rig.source,
    heldFrom: () => new Map(),
    nowMs: rig.nowMs,
    signal: stop.signal,
    send: async () => {},
    sendNow() {},
    attach,
  });
  expect([looks, isAttached]).toEqual([3, false]);
});
