import { createRequire } from 'node:module';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { createPaint } from '../../../../lib/render/paint.js';
import { cutLines, renderColumns, renderTable } from '../../../../lib/render/table.js';
import { isPlain, toOneLine, textWidth } from '../../../../lib/render/text.js';

const plain = createPaint(0);
const coloured = createPaint(1);
const NAMES = [
  'api',
  '⏰⏰ cron',
  '🇩🇪 shop',
  '日本語の名前',
  '🚀🚀 rocket',
  'cafe\u0301',
  'a\u001b[2J\u001b]0;title\u0007b\nc\u202ed',
  '👩‍👩‍👧 family',
  '',
  'x'.repeat(60),
];

const linesOf = (text) => text.trimEnd().split('\n');

test('renderTable() draws a table that looks like one of PM2', () => {
  expect(
    renderTable({
      head: ['id', 'name'],
      rows: [
        ['0', 'api'],
        ['10', { text: 'worker', style: 'bold' }],
      ],
      paint: plain,
    }),
  ).toBe(`\
┌────┬────────┐
│ id │ name   │
├────┼────────┤
│ 0  │ api    │
│ 10 │ worker │
└────┴────────┘
`);
});

test('a table without a head or without rows has no line between the two', () => {
  expect(
    renderTable({
      rows: [
        ['status', 'online'],
        ['pid', '7'],
      ],
      paint: plain,
    }),
  ).toBe('┌────────┬────────┐\n│ status │ online │\n│ pid    │ 7      │\n└────────┴────────┘\n');
  expect(renderTable({ head: ['id'], rows: [], paint: plain })).toBe('┌────┐\n│ id │\n└────┘\n');
});

describe('emoji, CJK, combining marks and hostile names', () => {
  const rows = NAMES.map((name, id) => [String(id), { text: name, style: 'bold' }, 'online']);

  test.each([[null], [40], [80], [200]])('odd names keep the frame straight, at %s columns', (columns) => {
    const text = renderTable({ head: ['id', 'name', 'status'], rows, paint: plain, columns });
    const widths = new Set(linesOf(text).map((line) => stringWidth(line)));
    expect(widths.size).toBe(1);
    if (columns !== null) expect([...widths][0]).toBeLessThanOrEqual(columns);
    else for (const name of NAMES) expect(text).toContain(toOneLine(name));
    expect(linesOf(text)).toHaveLength(NAMES.length + 4);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  test('odd names are aligned in columns without lines as in a table', () => {
    const lines = renderColumns(rows, { paint: plain });
    expect(lines).toHaveLength(NAMES.length);
    expect(new Set(lines.map((line) => stringWidth(line))).size).toBe(1);
  });

  test('odd names do not change the layout with colours', () => {
    const painted = renderTable({ head: ['id', 'name', 'status'], rows, paint: coloured, columns: 40 });
    expect(painted).toContain('\u001b[1m日本語の名前\u001b[22m');
    expect(painted.replace(/\u001b\[\d+m/g, '')).toBe(
      renderTable({ head: ['id', 'name', 'status'], rows, paint: plain, columns: 40 }),
    );
  });
});

test('the widest column becomes narrower first, and each keeps five letters', () => {
  const rows = [['10', 'a-service-with-a-long-name', 'waiting restart !', '100%', '45.1mb']];
  const shown = renderTable({ rows, paint: plain, columns: 60 });
  expect(linesOf(shown)[1]).toBe('│ 10 │ a-service-with-… │ waiting restart… │ 100% │ 45.1mb │');
  expect(linesOf(renderTable({ rows, paint: plain, columns: 40 }))[1]).toBe('│ 10 │ a-ser… │ waiti… │ 100% │ 45.1mb │');
  expect(linesOf(renderTable({ rows, paint: plain, columns: 10 }))[1]).toContain('│ a-se… │ wait… │');
});

test('a wrapped cell keeps all its words', () => {
  const rows = [
    ['script path', '/srv/shop/app.js'],
    ['ready when', 'it listens, or has lived for a second, or sends "ready" within three'],
  ];
  const text = renderTable({ rows, paint: plain, columns: 50, isWrapped: true });
  expect(
    linesOf(text)
      .slice(2, -1)
      .map((line) => line.split('│')[2].trim())
      .join(' '),
  ).toBe(rows[1][1]);
  expect([...new Set(linesOf(text).map((line) => stringWidth(line)))]).toEqual([50]);
});

test('a table never cuts a path, and has no frame if a path is wider than the terminal', () => {
  const path = '/srv/shop/releases/current/app.js';
  const text = renderTable({
    rows: [
      ['script path', path],
      ['ready when', 'it listens, or has lived for a second'],
    ],
    paint: plain,
    columns: 40,
    isWrapped: true,
  });
  expect(linesOf(text)).toEqual([
    `script path  ${path}`,
    'ready when   it listens, or has lived for a',
    '             second',
  ]);
});

test('a column with a given width is cut, and the last column is wrapped at the terminal width', () => {
  expect(renderColumns([['abcdefgh', 'x']], { paint: plain, widths: [5] })).toEqual(['abcd…  x']);
  expect(
    renderColumns(
      [
        ['warn', 'one two three'],
        ['', 'four'],
      ],
      { paint: plain, columns: 15 },
    ),
  ).toEqual(['warn  one two', '      three', '      four']);
  expect(renderColumns([], { paint: plain })).toEqual([]);
});

test('a line that is cut ends in "…", and its colour ends with it', () => {
  expect(cutLines(['abcdefgh', 'abc', '日本語日本語'], 6)).toEqual(['abcde…', 'abc', '日本…']);
  expect(cutLines([coloured('red', 'abcdefgh')], 6)).toEqual(['\u001b[31mabcde\u001b[39m…']);
});

test('rows that share a cell of cli-table3 stay separate rows', () => {
  const rows = Array.from({ length: 500 }, (_, id) => [String(id), `name-${id}`, { text: 'online', style: 'green' }]);
  const lines = linesOf(renderTable({ head: ['id', 'name', 'status'], rows, paint: plain })).slice(3, -1);
  expect(
    lines.map((line) =>
      line
        .split('│')
        .map((cell) => cell.trim())
        .slice(1, -1),
    ),
  ).toEqual(rows.map(([id, name]) => [id, name, 'online']));
});

test('no emoji is cut in half', () => {
  for (let columns = 8; columns < 50; columns += 1) {
    const text = renderTable({ head: ['name'], rows: [[`a${'😀'.repeat(20)}`]], paint: plain, columns });
    expect(text).not.toMatch(/\p{Cs}/u);
    expect(new Set(linesOf(text).map((line) => stringWidth(line))).size, text).toBe(1);
  }
});

test('plain characters have the width that string-width reports', () => {
  const wrong = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).filter(
    (character) => isPlain(character) && stringWidth(character) !== 1,
  );
  expect(wrong).toEqual([]);
  expect(textWidth('⌚watch')).toBe(7);
});

test('cli-table3 uses the same package to measure', () => {
  const { resolve } = createRequire(import.meta.url);
  expect(createRequire(resolve('cli-table3')).resolve('string-width')).toBe(resolve('string-width'));
});

test('hostile characters become "?", and joiners of an emoji stay', () => {
  expect(toOneLine('a\u001b[2Jb\u0007\u061c\u200b\u2028\ufeff')).toBe('a?[2Jb?????');
  expect(toOneLine('👩‍👩‍👧')).toBe('👩‍👩‍👧');
});
