import { describe, expect, test } from 'vitest';
import { renderList } from '../../../../lib/render/list.js';
import { createPaint } from '../../../../lib/render/paint.js';
import { slotStatus } from '../slots.js';

const NOW = 1_065_000;

const render = (slots, { columns = null, hasColour = false, options = {} } = {}) =>
  renderList({ slots }, { columns, paint: createPaint(hasColour ? 1 : 0), nowMs: NOW, options });

const two = [
  slotStatus({
    ...{ id: 1, name: 'job', status: 'waiting restart', pid: 0, memoryBytes: 0, restarts: 12 },
    troubles: ['descriptors'],
  }),
  slotStatus({ id: 0, name: 'api', mode: 'cluster', pid: 471, cpu: 12.34 }),
];

test('the table has the columns of PM2, sorted by name', () => {
  expect(render(two)).toBe(`\
┌────┬──────┬───────────┬─────────┬─────────┬─────┬────────┬────┬───────────────────┬───────┬────────┬──────┬──────────┐
│ id │ name │ namespace │ version │ mode    │ pid │ uptime │ ↺  │ status            │ cpu   │ mem    │ user │ watching │
├────┼──────┼───────────┼─────────┼─────────┼─────┼────────┼────┼───────────────────┼───────┼────────┼──────┼──────────┤
│ 0  │ api  │ default   │ 1.2.3   │ cluster │ 471 │ 1m     │ 0  │ online            │ 12.3% │ 45.1mb │ root │ disabled │
│ 1  │ job  │ default   │ 1.2.3   │ fork    │ N/A │ 0      │ 12 │ waiting restart ! │ 0%    │ 0b     │ root │ disabled │
└────┴──────┴───────────┴─────────┴─────────┴─────┴────────┴────┴───────────────────┴───────┴────────┴──────┴──────────┘
job needs attention: nclust why
`);
});

test('an empty list is an empty table', () => {
  expect(render([]).split('\n')).toHaveLength(4);
});

describe('a list on a terminal', () => {
  test.each([
    [200, 'watching'],
    [120, 'watching'],
    [119, 'memory'],
    [72, 'memory'],
    [60, 'mem'],
    [10, 'mem'],
  ])('the table of %d columns ends with the column %s', (columns, last) => {
    const head = render(two, { columns }).split('\n')[1];
    expect(head.split('│').at(-2)?.trim()).toBe(last);
  });

  test('colours do not change the layout', () => {
    const painted = render(two, { hasColour: true, columns: 200 });
    expect(painted).toContain('\u001b[32monline\u001b[39m');
    expect(painted.replace(/\u001b\[\d+m/g, '')).toBe(render(two, { columns: 200 }));
  });
});

test.each([
  ['name', [0, 1]],
  ['name:desc', [1, 0]],
  ['id', [0, 1]],
  ['id:desc', [1, 0]],
  ['cpu', [1, 0]],
  ['cpu:desc', [0, 1]],
  ['memory', [1, 0]],
  ['uptime', [1, 0]],
  ['status', [0, 1]],
  ['pid:asc', [1, 0]],
  ['namespace', [0, 1]],
])('--sort %s orders the rows', (sort, ids) => {
  const rows = render(two, { options: { sort } }).split('\n').slice(3, 5);
  expect(rows.map((row) => Number(row.split('│')[1]))).toEqual(ids);
});

test('--mini-list prints a block for each process', () => {
  const text = render(two, { options: { miniList: true } });
  expect(text).toContain('+--- api\nnamespace : default\nversion : 1.2.3\npid : 471\n');
  expect(text).toContain('+--- job\n');
});

test('escape codes in a name have no effect, and wide letters keep the frame straight', () => {
  const lines = render([slotStatus({ name: 'a\u001b[2Jb' }), slotStatus({ id: 1, name: '日本' })]).split('\n');
  expect(lines.join('')).not.toContain('\u001b');
  expect(lines[3]).toContain('│ a?[2Jb │');
  expect(lines[4]).toContain('│ 日本   │');
});

test('a slot that needs attention has a sign, with and without colours', () => {
  const sick = slotStatus({ troubles: ['slow'] });
  for (const hasColour of [true, false]) expect(render([sick], { hasColour })).toContain('online !');
  expect(render([slotStatus({ status: 'errored' })])).not.toContain('!');
  const three = [sick, { ...sick, id: 1 }, slotStatus({ id: 2, name: 'job', troubles: ['slow'] })];
  expect(render(three)).toContain('\n2 apps need attention: nclust why\n');
});

test.each(['online', 'launching', 'waiting restart'])(
  'an app in a crash loop that is %s is shown as crashing',
  (status) => {
    const sick = slotStatus({ status, troubles: ['crash-loop'] });
    expect(render([sick])).toContain('│ crashing ! │');
    expect(render([sick], { options: { miniList: true } })).toContain('status : crashing\n');
    const group = [sick, slotStatus({ id: 1, slot: 1 })];
    expect(render(group, { options: { group: true } })).toContain('│ 1 online, 1 crashing ! │');
  },
);

test.each(['errored', 'stopped', 'stopping'])('an app that is %s is not shown as crashing', (status) => {
  expect(render([slotStatus({ status, troubles: ['crash-loop'] })])).toContain(`│ ${status} ! │`);
});

test('--group puts the workers of each app below it', () => {
  const slots = [
    slotStatus({ id: 0, name: 'api', cpu: 10, memoryBytes: 1024 ** 2, startedAtMs: NOW - 60_000 }),
    slotStatus({
      id: 1,
      name: 'api',
      cpu: 5.5,
      memoryBytes: 1024 ** 2,
      restarts: 2,
      status: 'errored',
      pid: 0,
      troubles: ['errored'],
    }),
    slotStatus({ id: 2, name: 'one' }),
    slotStatus({ id: 3, name: 'two' }),
    slotStatus({ id: 4, name: 'two' }),
  ];
  const rows = render(slots, { options: { group: true } })
    .split('\n')
    .slice(3, -3)
    .map((row) => row.split('│').map((cell) => cell.trim()));
  expect(rows.map((cells) => [1, 2, 6, 7, 8, 9, 10, 11].map((at) => cells[at]))).toEqual([
    ['', 'api (2)', '', '1m', '2', '1 online, 1 errored !', '15.5%', '2.0mb'],
    ['0', '├ api', '4711', '1m', '0', 'online', '10%', '1.0mb'],
    ['1', '└ api', 'N/A', '0', '2', 'errored !', '5.5%', '1.0mb'],
    ['2', 'one', '4711', '1m', '0', 'online', '0%', '45.1mb'],
    ['', 'two (2)', '', '1m', '0', 'online', '0%', '90.2mb'],
    ['3', '├ two', '4711', '1m', '0', 'online', '0%', '45.1mb'],
    ['4', '└ two', '4711', '1m', '0', 'online', '0%', '45.1mb'],
  ]);
});

test('a list of 500 slots has all its rows', () => {
  const slots = Array.from({ length: 500 }, (_, id) => slotStatus({ id }));
  expect(render(slots).split('\n')).toHaveLength(505);
});
