import { afterEach, beforeEach, expect, test } from 'vitest';
import { detailRows } from '../../../../daemon/control/web/page/describe.js';
import { checkSpec } from '../../../../lib/app-spec/check.js';
import { renderEvents } from '../../../../lib/commands/events.js';
import { createLogRenderer } from '../../../../lib/render/log-lines.js';
import { renderDescribe } from '../../../../lib/render/describe.js';
import { createPaint } from '../../../../lib/render/paint.js';
import { renderWhy } from '../../../../lib/render/why/why.js';
import { death, slotStatus, trouble } from '../slots.js';

const AT = Date.parse('2026-11-21T09:45:23Z');
const view = { columns: null, paint: createPaint(0), nowMs: AT + 60_000, options: {} };
const spec = checkSpec({ name: 'api', kind: 'node', file: '/n', script: '/a.js', cwd: '/', cronRestart: '@daily' });
const slot = () =>
  slotStatus({
    spec,
    createdAtMs: AT,
    onlineSinceMs: AT,
    lastDeath: death({ atMs: AT }),
    deaths: [death({ atMs: AT })],
    triggers: { watch: null, nextRunMs: AT, memory: null, last: { atMs: AT, by: 'cron', problem: null } },
  });
const event = { at: AT, type: 'died', app: 'api', id: 0, slot: 0, cause: 'crash', code: 1, signal: null, lines: ['x'] };

let zone;
beforeEach(() => {
  zone = process.env.TZ;
  process.env.TZ = 'Asia/Kolkata';
});
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const SCREENS = {
  describe: () =>
    renderDescribe({ slots: [slot()], troubles: [trouble('crash-loop', { sinceMs: AT })] }, view).split('\n\n')[0],
  why: () =>
    renderWhy(
      {
        stories: [{ name: 'api', slots: [slot()], troubles: [], events: [event] }],
        isRunning: true,
        sinceMs: 0,
        lines: 9,
      },
      view,
    ),
  events: () => renderEvents({ events: [event] }, view),
  logs: () =>
    createLogRenderer()(
      {
        entries: [
          {
            id: 0,
            name: 'api',
            stream: 'out',
            line: 'x',
            atMs: AT,
          },
        ],
      },
      { ...view, options: { timestamp: true } },
    ),
  'the dashboard': () =>
    detailRows([slot()], view.nowMs)
      .map((row) => row.join(' '))
      .join('\n'),
};

test.each(Object.entries(SCREENS))('%s shows a moment in the time zone of the reader', (_screen, show) => {
  const text = show();
  expect(text).toContain('15:15:23');
  expect(text).not.toMatch(/09:45:23|\d\dT\d\d:/);
});
