import { Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { createSink } from '../../../../lib/run/sink.js';

function slowStream() {
  const taken = [];
  const waiting = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) =>
      void waiting.push((error) => {
        taken.push(chunk.toString());
        done(error);
      }),
  });
  return { stream, text: () => taken.join(''), take: (error = null) => waiting.shift()?.(error) };
}

test('lines of two processes do not mix, even after a part of a line', () => {
  const written = [];
  const sink = createSink(
    new Writable({
      write: (chunk, _encoding, done) => {
        written.push(chunk.toString());
        done();
      },
    }),
    () => {},
  );
  sink.write('a', Buffer.from('part of a'));
  sink.write('a', Buffer.from(' goes on'));
  sink.write('b', Buffer.from('b\n'));
  sink.write('a', Buffer.from('its end\n'));
  sink.printMessage('Something.');
  expect(written.join('')).toBe('part of a goes on\nb\nits end\nnclust: Something.\n');
});

test('write() returns a promise if the reader is slower than the writer', async () => {
  const { stream, text, take } = slowStream();
  const sink = createSink(stream, () => {});
  const written = sink.write('a', Buffer.from('one\n'));
  expect(written).toBeInstanceOf(Promise);
  take();
  await written;
  expect(text()).toBe('one\n');
});

test('a reader that is gone is reported once, and no write waits for it', async () => {
  const { stream, take } = slowStream();
  const onClosed = vi.fn();
  const sink = createSink(stream, onClosed);
  const written = sink.write('a', Buffer.from('one\n'));
  take(new Error('EPIPE'));
  await written;
  await vi.waitUntil(() => onClosed.mock.calls.length > 0);
  expect(sink.write('a', Buffer.from('two\n'))).toBeNull();
  expect(onClosed).toHaveBeenCalledTimes(1);
  expect(await sink.flush()).toBe(true);
});

test('flush() waits for queued bytes', async () => {
  const { stream, text, take } = slowStream();
  const sink = createSink(stream, () => {});
  void sink.write('a', Buffer.from('one\n'));
  const flushed = sink.flush();
  take();
  await vi.waitUntil(() => text() === 'one\n');
  take();
  expect(await flushed).toBe(true);
});

test('flush() does not wait for a reader that takes nothing', async () => {
  vi.useFakeTimers();
  try {
    const { stream } = slowStream();
    const sink = createSink(stream, () => {});
    void sink.write('a', Buffer.from('one\n'));
    const flushed = sink.flush();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await flushed).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});
