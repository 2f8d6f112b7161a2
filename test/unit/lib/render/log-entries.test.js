import { expect, test } from 'vitest';
import { renderLogEntries } from '../../../../lib/render/log-entries.js';
import { createPaint } from '../../../../lib/render/paint.cjs';

const entries = [
  { id: 0, name: 'api', stream: /** @type {const} */ ('out'), line: 'listens', atMs: 0 },
  { id: 12, name: 'a-long-name', stream: /** @type {const} */ ('err'), line: '\u001b[31mred\u001b[39m', atMs: null },
];

/** @param {Record<string, unknown>} options */
const render = (options, hasColour = false) => renderLogEntries({ entries }, { columns: null, paint: createPaint(hasColour), nowMs: 0, options });

test('lines carry the id and the name, and stay what the app wrote', () => {
  expect(render({})).toBe('0|api      | listens\n12|a-long-name | \u001b[31mred\u001b[39m\n');
});

test('--raw is the lines alone', () => {
  expect(render({ raw: true })).toBe('listens\n\u001b[31mred\u001b[39m\n');
});

test('--json is a record of PM2\'s keys a line', () => {
  expect(render({ json: true }).trim().split('\n').map((line) => JSON.parse(line))).toEqual([
    { message: 'listens', timestamp: '1970-01-01T00:00:00.000Z', type: 'out', process_id: 0, app_name: 'api' },
    { message: '\u001b[31mred\u001b[39m', timestamp: null, type: 'err', process_id: 12, app_name: 'a-long-name' },
  ]);
});

test('the streams have colours of their own', () => {
  expect(render({}, true)).toContain('\u001b[31m12|a-long-name | \u001b[39m');
});
