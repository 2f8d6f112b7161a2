import { expect, test } from 'vitest';
import { PatternEmitter } from '../../../../../lib/library/pm2/bus.js';

function record(emitter, event) {
  const calls = [];
  const listener = (...args) => void calls.push(args);
  emitter.on(event, listener);
  return { calls, listener };
}

test.each([
  ['process:msg', 'process:msg', [['data']]],
  ['process:msg', 'process:event', []],
  ['log:*', 'log:out', [['out', 'data']]],
  ['log:*', 'log:', []],
  ['*', 'log:out', [['log:out', 'data']]],
  ['*:*', 'log:out', [['log', 'out', 'data']]],
  ['a.b*', 'axb1', []],
])('a listener of %s gets the event %s with the arguments of PM2', (pattern, event, calls) => {
  const emitter = new PatternEmitter();
  const heard = record(emitter, pattern);
  expect(emitter.emit(event, 'data')).toBe(calls.length > 0);
  expect(heard.calls).toEqual(calls);
});

test('once() removes its listener, and off() removes one or all listeners', () => {
  const emitter = new PatternEmitter();
  const [one, two] = [record(emitter, 'x'), record(emitter, 'x')];
  let once = 0;
  emitter.once('x', () => {
    once += 1;
  });
  emitter.emit('x', 1);
  emitter.off('x', one.listener).emit('x', 2);
  emitter.removeListener('y', two.listener).emit('x', 3);
  emitter.off('x').emit('x', 4);
  expect([one.calls, two.calls, once]).toEqual([[[1]], [[1], [2], [3]], 1]);
  const any = record(emitter, '*');
  emitter.removeAllListeners();
  expect(emitter.emit('x', 5)).toBe(false);
  expect(any.calls).toEqual([]);
});
