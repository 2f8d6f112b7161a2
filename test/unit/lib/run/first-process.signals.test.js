import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { listenToSignals } from '../../../../lib/run/first-process.js';

function listener() {
  const source = new EventEmitter();
  const done = [];
  const clock = { ms: 0 };
  listenToSignals(
    source,
    {
      onStop: (signal) => done.push(`stop ${signal}`),
      onHurry: (signal) => done.push(`hurry ${signal}`),
      onReload: () => done.push('reload'),
      onReopen: () => done.push('reopen'),
    },
    () => clock.ms,
  );
  return { source, done, clock };
}

test.each(['SIGTERM', 'SIGINT', 'SIGQUIT'])('%s stops the run, and a second one kills it', (signal) => {
  const { source, done, clock } = listener();
  source.emit(signal);
  clock.ms = 301;
  source.emit('SIGTERM');
  expect(done).toEqual([`stop ${signal}`, 'hurry SIGTERM']);
});

test('Ctrl-C from both the terminal and the shell counts once', () => {
  const { source, done, clock } = listener();
  source.emit('SIGINT');
  clock.ms = 200;
  source.emit('SIGINT');
  expect(done).toEqual(['stop SIGINT']);
  clock.ms = 310;
  source.emit('SIGINT');
  expect(done).toEqual(['stop SIGINT', 'hurry SIGINT']);
});

test('each SIGHUP reloads, and each SIGUSR2 reopens the log files', () => {
  const { source, done } = listener();
  for (const signal of ['SIGHUP', 'SIGUSR2', 'SIGHUP']) source.emit(signal);
  expect(done).toEqual(['reload', 'reopen', 'reload']);
});
