import { expect, test } from 'vitest';
import { LINES_MAX } from '../../../../lib/monit/log-lines.js';
import { neededData } from '../../../../lib/monit/source.js';
import { sampleOf } from './sample.js';
import { entries, SIZES, stage } from './stage.js';

const SIZE = { columns: 80, rows: 24 };
const APPS = { api: 3, cron: [{ cpu: 90, memoryBytes: 9 }], web: 20 };

const shownWith = (apps = APPS, size = SIZE) => stage(size, { type: 'sampled', sample: sampleOf(apps) });

const names = (shown) =>
  shown
    .lines()
    .slice(2, 10)
    .map((line) => /^.{7}(?: {2}└ \d+|[ +-] \S+)?/.exec(line)?.[0].slice(7).trim())
    .filter(Boolean);

const ENTER = '\r';
const ESC = '\u001b';
const DOWN = '\u001b[B';
const UP = '\u001b[A';

test.each(SIZES)('the selection moves over the rows and stops at both ends, at $columns x $rows', (size) => {
  const shown = shownWith(APPS, size);
  const moves = [
    [UP, 'app api'],
    [DOWN, 'worker 0'],
    ['j', 'worker 1'],
    ['G', 'app web'],
    ['j', 'app web'],
    ['k', 'app cron'],
    ['g', 'app api'],
    ['\u001b[6~', 'app web'],
    ['\u001b[H', 'app api'],
  ];
  if (size.rows === 16) moves.splice(7, 1);
  for (const [keys, selected] of moves) {
    shown.type(keys);
    expect(shown.state().selected, JSON.stringify(keys)).toBe(selected);
  }
});

test('an app with many workers is collapsed until the user expands it', () => {
  const shown = shownWith();
  expect(names(shown)).toEqual(['- api', '└ 0', '└ 1', '└ 2', 'cron', '+ web']);
  shown.type(`${ENTER}`);
  expect(names(shown)).toEqual(['+ api', 'cron', '+ web']);
  shown.type(`G${ENTER}G`);
  expect(shown.state().selected).toBe('worker 23');
  shown.type('\u001b[D');
  expect(shown.state().selected).toBe('app web');
  expect(names(shown)).toEqual(['+ api', 'cron', '+ web']);
  shown.type('\u001b[C\u001b[C');
  expect(names(shown)[2]).toBe('- web');
  shown.type('*g');
  expect(names(shown).slice(0, 2)).toEqual(['- api', '└ 0']);
  shown.type('*');
  expect(names(shown)).toEqual(['+ api', 'cron', '+ web']);
});

test('the filter applies while the user types or pastes it, and Esc restores the old one', () => {
  const shown = shownWith();
  shown.type('/WE');
  expect(names(shown)).toEqual(['+ web']);
  expect(shown.lines().at(-1)).toBe(' Rows with: WE_');
  shown.type('\u007f\u007fcr');
  expect(names(shown)).toEqual(['cron']);
  shown.type(ESC);
  expect(names(shown)).toHaveLength(6);
  shown.type('/\u001b[200~cr\non\u001b[201~\u0015cron\r');
  expect(names(shown)).toEqual(['cron']);
  expect(shown.lines().at(-1)).toContain('Rows with "cron" (Esc: all)');
  shown.type(ESC);
  expect(names(shown)).toHaveLength(6);
  shown.type('/nothing\r');
  expect(shown.text()).toContain('No row contains "nothing". Press Esc to show all.');
  expect(shown.state().selected).toBe(null);
});

test('o changes the order and O reverses it; the selection stays with its app', () => {
  const shown = shownWith();
  shown.type('Go');
  expect(names(shown)[0]).toBe('cron');
  expect(shown.state().selected).toBe('app web');
  expect(shown.text()).toMatch(/cpu▾/);
  shown.type('o');
  expect(names(shown)[0]).toBe('+ web');
  shown.type('O');
  expect(names(shown)[0]).toBe('cron');
  shown.type('ooo');
  expect(names(shown)[0]).toBe('- api');
});

test.each([
  ['r', 'Reload "api" (3 instances)?', 'reload', { targets: ['api'] }],
  ['R', 'Restart "api" (3 instances)?', 'restart', { targets: ['api'] }],
  ['s', 'Stop "api" (3 instances)?', 'stop', { targets: ['api'] }],
  ['-', 'Remove one instance of "api"?', 'scale', { target: 'api', instances: '-1' }],
  ['jR', 'Restart "api", id 0 only?', 'restart', { targets: ['0'] }],
  ['js', 'Stop "api", id 0 only?', 'stop', { targets: ['0'] }],
])('%s asks, and only y sends the request', (keys, question, method, params) => {
  const shown = shownWith();
  for (const no of ['n', ENTER, ESC, ' ', 'q', keys.at(-1), '\u001b[200~y\u001b[201~']) {
    shown.type(keys);
    expect(shown.lines().at(-1)).toBe(` ${question} y/n`);
    shown.type(no);
    expect(shown.state().question).toBe(null);
    expect(shown.effects).toEqual([]);
    shown.type('g');
  }
  shown.type(`${keys}y`);
  expect(shown.effects).toEqual([expect.objectContaining({ type: 'ask', method, params })]);
  expect(shown.lines().at(-1)).toMatch(/ing .*"api".* \.\.\.$/);
});

test('+ does not ask, and a notice shows its success or failure for a while', () => {
  const shown = shownWith();
  shown.type('+');
  expect(shown.effects).toEqual([
    expect.objectContaining({ method: 'scale', params: { target: 'api', instances: '+1' } }),
  ]);
  shown.give({ type: 'said', text: 'No room\nat all', isBad: true });
  expect(shown.lines().at(-1)).toBe(' No room?at all');
  shown.give({ type: 'time', nowMs: 1_010_000 });
  expect(shown.lines().at(-1)).toContain('? help');
});

test('the last instance is not removed, and a key sends no request while the manager is away', () => {
  const shown = shownWith({ one: 1 });
  shown.type('-y');
  shown.give({ type: 'lost', words: 'The manager went away.' });
  shown.type('R');
  expect(shown.lines().at(-1)).toBe(' There is no connection to the manager');
  shown.type('y');
  expect(shown.effects).toEqual([]);
});

test('a key reports the lost connection, too, if the last picture of the manager has no app any more', () => {
  const shown = shownWith({});
  shown.give({ type: 'lost', words: 'No manager runs.' });
  shown.type('R');
  expect(shown.lines().at(-1)).toBe(' There is no connection to the manager');
});

test('a key refuses an id that is also the name of an app, because the request would change that app', () => {
  const shown = shownWith({ 0: 1, api: [{ id: 7 }, { id: 0 }] });
  shown.type('GR');
  expect(shown.state().question?.text).toMatch(/id 7 only/);
  shown.type('n');
  shown.type('kRy');
  expect(shown.effects).toEqual([]);
  expect(shown.lines().at(-1)).toMatch(/use the command line/);
});

test('a pasted text presses no key', () => {
  const shown = shownWith();
  shown.type('\u001b[200~syRyq\u001b[201~');
  expect(shown.effects).toEqual([]);
  expect(shown.state().question).toBe(null);
});

test('q and Ctrl-C quit, and q leaves the logs and the help', () => {
  const shown = shownWith();
  shown.type('lq?q');
  expect(shown.effects).toEqual([]);
  expect(shown.state().page).toBe('table');
  shown.type('q');
  shown.type('l\u0003');
  expect(shown.effects).toEqual([{ type: 'quit' }, { type: 'quit' }]);
});

test.each(SIZES)('the help scrolls to its end at $columns x $rows', (size) => {
  const shown = shownWith(APPS, size);
  shown.type('?');
  expect(shown.lines()[1]).toBe(' The table');
  shown.type('jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj');
  expect(shown.text()).toMatch(/q {2}Ctrl-C +quit/);
  shown.type('k\u001b[5~\u001b[5~\u001b[5~\u001b[5~');
  expect(shown.lines()[1]).toBe(' The table');
});

test('a row that disappears leaves the selection at its position', () => {
  const shown = shownWith();
  shown.type('jj');
  shown.give({ type: 'sampled', sample: sampleOf({ api: 1, cron: 1 }, 1_001_000) });
  expect(shown.state().selected).toBe('app cron');
  shown.give({ type: 'sampled', sample: sampleOf({}, 1_002_000) });
  expect(shown.state().selected).toBe(null);
  shown.give({ type: 'sampled', sample: sampleOf({ back: 1 }, 1_003_000) });
  expect(shown.state().selected).toBe('app back');
});

test('the header reports that the manager is away, and the age of the figures, until it is back', () => {
  const shown = shownWith();
  shown.give({ type: 'lost', words: 'No manager runs.' });
  shown.give({ type: 'time', nowMs: 1_065_000 });
  expect(shown.lines()[0]).toBe(' No manager runs. The figures are 1m old.');
  shown.give({ type: 'found' });
  expect(shown.lines()[0]).toBe(' The manager does not answer. The figures are 1m old.');
  shown.give({ type: 'sampled', sample: sampleOf(APPS, 1_065_000) });
  expect(shown.lines()[0]).toMatch(/^ nclust {2}cpu 34%/);
});

test('the history is put before the samples, and missing samples are gaps', () => {
  const shown = shownWith({ api: 1 });
  const series = { cpu: [1, 2, 3], memoryBytes: [1, 1, 1], delayP99Ms: [null, 2, 2] };
  shown.give({ type: 'sampled', sample: sampleOf({ api: 1 }, 1_001_000) });
  shown.give({
    type: 'history',
    key: 'app api',
    history: {
      stepMs: 1_000,
      endMs: 1_000_000,
      points: 3,
      workers: [],
      apps: [{ name: 'api', series }],
      host: { cpu: [], memoryUsedBytes: [], load1: [] },
    },
  });
  expect(shown.state().trend?.series.cpu).toEqual([1, 2, 3, 1.5]);
  expect(shown.state().trend?.series.requestsPerS).toEqual([null, null, 12, 12]);
  shown.give({ type: 'sampled', sample: sampleOf({ api: 1 }, 1_004_000) });
  expect(shown.state().trend?.series.cpu).toEqual([1, 2, 3, 1.5, null, null, 1.5]);
  for (let tick = 5; tick < 900; tick += 1)
    shown.give({ type: 'sampled', sample: sampleOf({ api: 1 }, 1_000_000 + tick * 1_000) });
  expect(shown.state().trend?.series.cpu).toHaveLength(600);
  expect(shown.state().sparks.get('worker 0')).toHaveLength(60);
});

test('charts of six hours show the history of the manager, including a short peak', () => {
  const shown = stage({ columns: 80, rows: 24 }, { type: 'sampled', sample: sampleOf({ api: 1 }) });
  expect(shown.text()).not.toContain('last 6 hours');
  shown.type('t');
  expect(shown.text()).toContain('last 6 hours');
  expect(neededData(shown.state()).trend).toMatchObject({ key: 'app api', stepMs: 10_000, points: 2_160 });
  const cpu = new Array(2_160).fill(1).fill(90, 1_000, 1_001);
  const flat = new Array(2_160).fill(0);
  const history = {
    endMs: 1_000_000,
    workers: [],
    apps: [{ name: 'api', series: { cpu, memoryBytes: flat, delayP99Ms: flat, requestsPerS: flat } }],
    host: { cpu: [], memoryUsedBytes: [], load1: [] },
  };
  // This answer to an earlier request is ignored, because its step is 1 s and not 10 s.
  shown.give({ type: 'history', key: 'app api', history: { ...history, stepMs: 1_000, points: 2_160 } });
  expect(shown.state().trend?.series.cpu).toEqual([]);
  shown.give({ type: 'history', key: 'app api', history: { ...history, stepMs: 10_000, points: 2_160 } });
  expect(shown.text()).toMatch(/cpu +1\.0% +▁+▇▁+ /);
  shown.give({ type: 'sampled', sample: sampleOf({ api: 1 }, 1_001_000) });
  expect(shown.state().trend?.series.cpu).toEqual(cpu);
  const before = neededData(shown.state()).trend;
  shown.give({ type: 'sampled', sample: sampleOf({ api: 1 }, 1_080_000) });
  expect(neededData(shown.state()).trend).not.toEqual(before); // Requested again.
  shown.type('t');
  expect(shown.text()).not.toContain('last 6 hours');
  expect(shown.state().trend?.series.cpu).toEqual([1.5]);
});

function withLogs(size) {
  const shown = shownWith(APPS, size);
  shown.give({ type: 'log-began', query: 'w' });
  shown.give({ type: 'logged', query: 'w', entries: entries(0, 100) });
  shown.type('l');
  return shown;
}

test.each(SIZES)(
  'full-screen logs follow, scroll to both ends, and count the lines below, at $columns x $rows',
  (size) => {
    const shown = withLogs(size);
    expect(shown.lines().at(-2)).toBe('   line 99');
    shown.type('kk');
    expect(shown.lines().at(-2)).toBe('   line 97');
    shown.give({ type: 'logged', query: 'w', entries: entries(100, 5) });
    expect(shown.lines().at(-2)).toBe('   line 97');
    expect(shown.lines().at(-1)).toMatch(/^ 7 newer below, G follows/);
    shown.type('g');
    expect(shown.lines()[1]).toBe('   line 0');
    shown.type('k\u001b[5~j');
    expect(shown.lines()[1]).toBe('   line 1');
    shown.type('G');
    expect(shown.lines().at(-2)).toBe('   line 104');
  },
);

test('a search marks matches, jumps to older and newer lines, and reports if there is none', () => {
  const shown = withLogs();
  shown.type('/LINE 42\r');
  expect(shown.lines().at(-1)).toMatch(/"LINE 42" is not in these lines/);
  shown.type('/line 4\r');
  expect(shown.lines().at(-2)).toBe('   line 49');
  shown.type('nn');
  expect(shown.lines().at(-2)).toBe('   line 47');
  shown.type('N');
  expect(shown.lines().at(-2)).toBe('   line 48');
  shown.type(`${ESC}`);
  expect(shown.state()).toMatchObject({ page: 'logs', logs: { search: '' } });
  shown.type(`${ESC}`);
  expect(shown.state().page).toBe('table');
});

test('& requests only lines that contain a text; closing the page requests all lines again', () => {
  const shown = withLogs();
  expect(neededData(shown.state()).logs?.request).toEqual({ targets: ['api'], follow: true, lines: 200 });
  shown.type('&a.b\r');
  expect(neededData(shown.state()).logs?.request).toMatchObject({
    grep: { source: 'a\\.b', flags: 'i' },
    lines: 1_000,
  });
  shown.type('q');
  expect(neededData(shown.state()).logs?.request).not.toHaveProperty('grep');
});

test('logs ignore lines of another request, are bounded, and count lines that were left out', () => {
  const shown = withLogs();
  shown.give({ type: 'logged', query: 'old', entries: entries(500, 1) });
  expect(shown.lines().at(-2)).toBe('   line 99');
  for (let batch = 0; batch < 5; batch += 1)
    shown.give({ type: 'logged', query: 'w', entries: entries(batch * 3_000, 3_000) });
  shown.give({ type: 'log-missed', query: 'w', count: 41_000 });
  expect(shown.state().logs.lines).toHaveLength(LINES_MAX);
  expect(shown.lines().at(-2)).toBe('   line 14999');
  expect(shown.lines().at(-1)).toContain('41,000 lines came too fast');
});

test('long lines scroll sideways', () => {
  const shown = withLogs({ columns: 60, rows: 16 });
  shown.give({
    type: 'logged',
    query: 'w',
    entries: [{ id: 0, name: 'api', stream: 'out', line: `${'.'.repeat(70)}END`, atMs: 1 }],
  });
  expect(shown.text()).not.toContain('END');
  shown.type('\u001b[C\u001b[C');
  expect(shown.text()).toContain('END');
  shown.type('\u001b[D\u001b[D\u001b[D');
  expect(shown.text()).not.toContain('END');
});
