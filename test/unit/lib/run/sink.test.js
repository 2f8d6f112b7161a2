import { Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { createSink } from '../../../../lib/run/sink.js';

/** A stream that takes something whenever it is told to. */
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

test('lines of two processes do not mix, also when one of them has written a part', () => {
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
  sink.say('Something.');
  expect(written.join('')).toBe('part of a goes on\nb\nits end\nnclust: Something.\n');
});

test('who writes more than is read is told to wait', async () => {
  const { stream, text, take } = slowStream();
  const sink = createSink(stream, () => {});
  const written = sink.write('a', Buffer.from('one\n'));
  expect(written).toBeInstanceOf(Promise);
  take();
  await written;
  expect(text()).toBe('one\n');
});

test('a reader that has gone is told once, and nobody waits for it', async () => {
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

test('the end waits for what is on its way', async () => {
  const { stream, text, take } = slowStream();
  const sink = createSink(stream, () => {});
  void sink.write('a', Buffer.from('one\n'));
  const flushed = sink.flush();
  take();
  await vi.waitUntil(() => text() === 'one\n');
  take();
  expect(await flushed).toBe(true);
});

test('but not for a reader that takes nothing any more', async () => {
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
