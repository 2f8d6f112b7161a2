import { expect, test } from 'vitest';
import { renderStack } from '../../../../lib/commands/stack.js';

const slot = { id: 3, name: 'api', slot: 0, pid: 7 };
const frames = [
  { name: 'spin', file: '/app/a.js', line: 3, column: 9 },
  { name: '', file: '/app/a.js', line: 5, column: 1 },
  { name: 'run', file: '', line: 1, column: null },
];
const common = { slot, isHeldUp: false, wasHeldUp: false, busy: 0, durationMs: 200, frames: [], resources: {} };

test('a blocked worker is shown with frames in the format of V8', () => {
  expect(renderStack({ ...common, isHeldUp: true, busy: null, frames })).toBe(
    '"api" (id 3, pid 7) does not return to its event loop:\n    at spin (/app/a.js:3:9)\n    at ' +
      '/app/a.js:5:1\n    at run (<anonymous>:1)\n',
  );
});

test('an idle worker is shown with its resources', () => {
  expect(renderStack({ ...common, busy: 0.01, frames, resources: { TCPServerWrap: 1, Timeout: 2 } })).toBe(
    '"api" (id 3, pid 7) runs no JavaScript now: it is idle, and waits for events.\nResources that keep it ' +
      "alive, by Node's names: TCPServerWrap, 2 Timeout\n",
  );
});

test('a listening socket is not shown as a connection', () => {
  expect(renderStack({ ...common, resources: { PipeWrap: 2, TCPSocketWrap: 1 } })).toContain(
    "Resources that keep it alive, by Node's names: 2 PipeWrap, TCPSocketWrap (connections, or sockets that listen)\n",
  );
});

test('a worker that is no longer blocked is shown without frames', () => {
  expect(renderStack({ ...common, wasHeldUp: true, busy: 0.4, frames, resources: { PipeWrap: 1 } })).toBe(
    '"api" (id 3, pid 7) was blocked until now, and runs again: it was in a system call, in native code, ' +
      'or in JavaScript that has just finished.\n',
  );
});

test('a busy worker is shown with its share of time and its frames', () => {
  expect(renderStack({ ...common, busy: 0.42, frames: frames.slice(0, 1) })).toContain(
    'was busy for 42% of the last 200ms, most often here (its event loop is not blocked):\n    at spin ' +
      '(/app/a.js:3:9)\n',
  );
  expect(renderStack({ ...common, busy: 0.42 })).toContain('42% of the last 200ms, in native code.');
});

test('names and paths cannot send control characters to the terminal', () => {
  const text = renderStack({
    ...common,
    slot: { ...slot, name: 'a\u001b[2J' },
    isHeldUp: true,
    frames: [{ name: 'f\n', file: '/\u001b]0;x\u0007', line: 1, column: 1 }],
  });
  expect(text.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f]/);
});
