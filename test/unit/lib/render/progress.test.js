import { expect, test } from 'vitest';
import { renderProgress } from '../../../../lib/render/progress.js';

const view = { columns: 80, rows: 24, paint: (_style, text) => text };
const shown = { doing: 'Reloading api', forMs: 12_400, ageMs: 0 };

const waiting = (fields) => ({
  id: 0,
  name: 'api',
  slot: 0,
  phase: 'starting',
  forMs: 0,
  detail: null,
  leftMs: null,
  ...fields,
});

const progress = (list) => ({ token: 't', done: 1, total: 4, waiting: list });

test('progress shows each worker that is not ready, what it waits for, and for how long', () => {
  const list = [
    waiting({ slot: 2, forMs: 4_200, detail: 'it does not listen on port 3000' }),
    waiting({ slot: 10, phase: 'soaking', forMs: 300, leftMs: 700 }),
    waiting({ slot: 1, phase: 'draining', forMs: 61_000 }),
  ];
  expect(renderProgress({ ...shown, progress: progress(list) }, view)).toEqual([
    'Reloading api: 1 of 4 done, 12s',
    '  api 2   starting        4s  it does not listen on port 3000',
    '  api 10  soaking         0s  1s left',
    '  api 1   draining     1m01s',
  ]);
});

test('progress shows the action before the first report of the manager', () => {
  expect(renderProgress({ ...shown, progress: null }, view)).toEqual(['Reloading api, 12s']);
});

test('progress keeps counting between two reports', () => {
  const list = [waiting({ phase: 'parked', forMs: 4_200, leftMs: 20_000 })];
  expect(renderProgress({ ...shown, ageMs: 5_000, progress: progress(list) }, view)[1]).toBe(
    '  api 0  parked          9s  15s left',
  );
});

test.each([20, 40, 80])('each line is narrower than a terminal of %d columns', (columns) => {
  const list = [
    waiting({ name: 'a-service-with-a-very-long-name-日本語', detail: 'x'.repeat(200) }),
    waiting({ name: 'b' }),
  ];
  for (const line of renderProgress(
    { ...shown, doing: `Reloading ${'app, '.repeat(40)}`, progress: progress(list) },
    { ...view, columns },
  ))
    expect(line.length).toBeLessThan(columns);
});

test('workers that do not fit are counted, and the block is lower than the terminal', () => {
  const list = Array.from({ length: 30 }, (_, slot) => waiting({ slot }));
  const lines = renderProgress({ ...shown, progress: progress(list) }, { ...view, rows: 10 });
  expect(lines).toHaveLength(8);
  expect(lines.at(-1)).toBe('  and 24 more');
  expect(renderProgress({ ...shown, progress: progress(list) }, { ...view, rows: 60 })).toHaveLength(13);
});

test('escape codes in a name have no effect', () => {
  expect(
    renderProgress(
      {
        ...shown,
        doing: 'Reloading \u001b[2J',
        progress: progress([waiting({ name: '\u001b[31m', detail: '\u0007' })]),
      },
      view,
    ).join(''),
  ).not.toMatch(/[\u0000-\u001f]/);
});
