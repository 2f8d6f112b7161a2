import { expect, test } from 'vitest';
import { layOut, firstVisible } from '../../../../lib/monit/layout.js';
import { view } from '../../../../lib/monit/view.js';
import { firstState, step } from '../../../../lib/monit/state.js';
import { sampleOf } from './sample.js';
import { trouble } from '../slots.js';
import { SIZES, stage } from './stage.js';

const EVERY = [1, 2, 5, 16, 24, 31, 50, 80].flatMap((rows) =>
  [1, 3, 20, 60, 80, 139, 140, 200, 400].map((columns) => ({ columns, rows })),
);

test('boxes are inside every terminal and never overlap', () => {
  for (const size of EVERY) {
    const { page: _page, ...boxes } = layOut(size);
    const all = Object.entries(boxes).filter(([, { width, height }]) => width > 0 && height > 0);
    const outside = all.filter(
      ([, { x, y, width, height }]) => x < 0 || y < 0 || x + width > size.columns || y + height > size.rows,
    );
    expect(outside, JSON.stringify(size)).toEqual([]);
    const touching = all.flatMap(([name, a], at) =>
      all
        .slice(at + 1)
        .filter(([, b]) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)
        .map(([other]) => `${name} ${other}`),
    );
    if (size.rows >= 2) expect(touching, JSON.stringify(size)).toEqual([]);
  }
});

test.each(EVERY.filter(({ columns }) => columns !== 139))('every page can be drawn at $columns x $rows', (size) => {
  const events = [{ type: 'sampled', sample: sampleOf({ api: 4, ünïcode日本: 1, big: 30 }) }];
  const shown = stage(size, ...events);
  for (const keys of ['', 'l', 'l?', '?', '/x', '\u001b', 'R', 'n']) {
    shown.type(keys);
    const screen = view(shown.state());
    expect(screen.texts).toHaveLength(size.columns * size.rows);
    expect(screen.styles).toHaveLength(size.columns * size.rows);
  }
});

test.each(SIZES)('the page at $columns x $rows shows apps, workers, charts, logs and the keys', (size) => {
  const troubles = [trouble('errored', { app: 'worker' })];
  const sample = { ...sampleOf({ api: 2, worker: [{ status: 'errored', cpu: 0 }] }), troubles };
  const shown = stage(size, { type: 'sampled', sample });
  shown.give({ type: 'log-began', query: 'a' });
  shown.give({
    type: 'logged',
    query: 'a',
    entries: [{ id: 0, name: 'api', stream: 'err', line: 'something \u001b[31mred\u001b[0m\u001b[2J', atMs: 1 }],
  });
  const text = shown.text();
  expect(text).toMatch(/^ nclust {2}cpu 34% of 4/);
  expect(text).toMatch(/2 apps, 1 needs attention {2}3 workers/);
  expect(text).toMatch(/^> +- api +online 2\/2 +3\.0%.* 100\.0mb/m);
  expect(text).toMatch(/^ +0 +└ 0 +online +1\.5%/m);
  expect(text).toMatch(/^ +2 +worker +errored ! +0\.0%/m);
  expect(text).toMatch(/── api: 2 of 2 online ─/);
  for (const title of ['cpu', 'mem', 'loop', 'req/s']) expect(text).toContain(title);
  expect(text).toContain('! something red');
  expect(text).toMatch(/\? help {2}q quit/);
  expect(text).not.toContain('\u001b');
});

test('the selected row shows the words of its worst trouble', () => {
  const size = { columns: 160, rows: 40 };
  const troubles = [
    trouble('crash-loop', { slots: [1] }),
    trouble('slow', { slots: [], evidence: { p99Ms: 2_000, usualMs: 20, delayP99Ms: 1 } }),
  ];
  const shown = stage(size, { type: 'sampled', sample: { ...sampleOf({ api: 2, job: 1 }), troubles } });
  expect(shown.text()).toMatch(/── api: 2 of 2 online · \(instance 1\) crashed 3 times within 1m; the l/);
  expect(shown.text()).toMatch(/^> +- api +crashing 2\/2 !/m);
  expect(shown.text()).toMatch(/^ +0 +└ 0 +online !/m);
  expect(shown.text()).toMatch(/^ +1 +└ 1 +crashing !/m);
  expect(shown.text()).toMatch(/^ +2 +job +online +1/m);
  shown.type('j');
  expect(shown.text()).toMatch(/── api, instance 0 · id 0 · online · answers slowly: 1 in 100/);
});

test('a wide page shows the row beside the table, with events below the logs', () => {
  const shown = stage({ columns: 200, rows: 50 }, { type: 'sampled', sample: sampleOf({ api: 2 }) });
  shown.give({
    type: 'happened',
    events: [
      { at: 999_000, type: 'ready', app: 'api', slot: 1, id: 1, uptimeMs: 900 },
      { at: 999_500, type: 'removed', app: 'other' },
    ],
  });
  const lines = shown.lines();
  expect(lines[1]).toMatch(/heap.*│── api: 2 of 2 online/);
  expect(lines[2]).toMatch(/│ heap 5\.0mb {2}loop 10% {2}p50\/p95\/p99 1ms 4ms 9ms/);
  expect(lines.findIndex((line) => line.includes('── logs'))).toBeLessThan(
    lines.findIndex((line) => line.includes('── events')),
  );
  expect(shown.text()).toContain('1 is up');
  expect(shown.text()).not.toContain('other');
});

test('the selected row is always visible', () => {
  for (const height of [1, 3, 8])
    for (const count of [1, 5, 500])
      for (let selected = 0; selected < count; selected += 7) {
        const top = firstVisible(height, selected, count);
        expect(
          top >= 0 && selected >= top && selected < top + height,
          `${selected} of ${count} in ${height}, from ${top}`,
        ).toBe(true);
      }
});

test('a page with five hundred workers is drawn in milliseconds', () => {
  let state = firstState({ columns: 200, rows: 50 }, 0);
  const sample = sampleOf(Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`app-${at}`, 5])));
  const startedMono = performance.now();
  for (let tick = 0; tick < 20; tick += 1) {
    ({ state } = step(state, { type: 'sampled', sample: { ...sample, atMs: tick * 1_000 } }));
    view(state);
  }
  // A frame usually takes 5 ms. Even with 100 ms, one frame a second takes only a tenth of a core.
  expect((performance.now() - startedMono) / 20).toBeLessThan(100);
});

test('escape codes in a name have no effect, and a long name is cut', () => {
  const shown = stage(
    { columns: 60, rows: 16 },
    { type: 'sampled', sample: sampleOf({ 'a\u001b[2J\nb': 1, ['x'.repeat(90)]: 1 }) },
  );
  expect(shown.text()).toContain('a?[2J?b');
  expect(shown.text()).toMatch(/ x+~ +online/);
});

test('an empty list shows how to start an app', () => {
  const shown = stage({ columns: 80, rows: 24 });
  expect(shown.text()).toContain('Waiting for the first figures');
  shown.give({ type: 'sampled', sample: sampleOf({}) });
  expect(shown.text()).toContain('No app is in the list. Start one with: nclust start app.js');
});
