import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runLoop } from '../../../../lib/monit/loop.js';
import { createTinyTerminal } from '../../../helpers/tiny-terminal.js';
import { sampleOf } from './sample.js';
import { entries } from './stage.js';

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

function play(size = { columns: 80, rows: 24 }) {
  const screen = createTinyTerminal(size);
  let onInput = () => {};
  let onResize = () => {};
  let onStop = () => {};
  let isHeld = false;
  let opened = 0;
  let suspended = 0;
  const followed = [];
  const asked = [];
  let tell = () => {};
  let fail = () => {};
  let isClosed = false;
  const done = runLoop({
    colourLevel: 1,
    terminal: {
      size: () => ({ ...size }),
      open: () => {
        opened += 1;
      },
      close: () => {
        opened = 0;
      },
      write: (text) => {
        if (!isHeld) screen.take(text);
        return !isHeld;
      },
      onInput: (listener) => {
        onInput = listener;
        return () => {
          onInput = () => {};
        };
      },
      onGone: () => () => {},
      onResize: (listener) => {
        onResize = listener;
        return () => {
          onResize = () => {};
        };
      },
    },
    source: {
      run: (dispatch) => {
        tell = dispatch;
        return new Promise((_, reject) => {
          fail = reject;
        });
      },
      follow: (needed) => void followed.push(needed),
      ask: (ask) => void asked.push(ask),
      close: async () => {
        isClosed = true;
      },
    },
    onStop: (stop) => {
      onStop = stop;
      return () => {};
    },
    suspend: () => {
      suspended += 1;
    },
  });
  return {
    screen,
    followed,
    asked,
    done,
    tell: (event) => tell(event),
    type: (text) => onInput(text),
    stop: () => onStop(),
    fail: (error) => fail(error),
    hold: (held) => {
      isHeld = held;
    },
    resize(next) {
      Object.assign(size, next);
      screen.resize(next);
      onResize();
    },
    pass: (ms = 200) => vi.advanceTimersByTimeAsync(ms),
    isOpen: () => opened > 0,
    isClosed: () => isClosed,
    suspended: () => suspended,
  };
}

const sampled = (atMs) => ({ type: 'sampled', sample: sampleOf({ api: 2, web: 1 }, atMs) });

test('the loop shows figures, obeys keys, sends an action to the manager, and q restores the terminal', async () => {
  const seen = play();
  await seen.pass();
  expect(seen.screen.text()).toContain('Waiting for the first figures');
  seen.tell(sampled(1_000_000));
  await seen.pass();
  expect(seen.screen.text()).toMatch(/> +- api +online 2\/2/);
  seen.type('\u001b[B');
  seen.type('\u001b');
  seen.type('[BRy');
  await seen.pass();
  expect(seen.asked).toEqual([expect.objectContaining({ method: 'restart', params: { targets: ['1'] } })]);
  expect(seen.screen.text()).toMatch(/Restarting "api", id 1 only \.\.\./);
  seen.type('q');
  await seen.done;
  expect(seen.isOpen()).toBe(false);
  expect(seen.isClosed()).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('a resized terminal is drawn again, and an unchanged screen writes nothing', async () => {
  const seen = play();
  seen.tell(sampled(1_000_000));
  await seen.pass();
  seen.resize({ columns: 200, rows: 50 });
  await seen.pass();
  expect(seen.screen.text()).toMatch(/│── api: 2 of 2 online/);
  seen.resize({ columns: 60, rows: 16 });
  await seen.pass();
  expect(seen.screen.text()).toMatch(/^── api: 2 of 2 online/m);
  const before = seen.screen.bytes();
  seen.tell(sampled(1_000_500));
  seen.type('x');
  await seen.pass(400);
  expect(seen.screen.bytes() - before).toBeLessThan(150);
  seen.stop();
  await seen.done;
});

test('logs and history are requested when the selection rests, not for each row that it passes', async () => {
  const seen = play();
  seen.tell(sampled(1_000_000));
  await seen.pass();
  expect(seen.followed.map(({ trend }) => trend.key)).toEqual(['app api']);
  seen.type('jjj');
  seen.type('k');
  await seen.pass();
  expect(seen.followed.map(({ trend }) => trend.key)).toEqual(['app api', 'worker 1']);
  seen.tell(sampled(1_001_000));
  await seen.pass();
  expect(seen.followed).toHaveLength(2);
  seen.stop();
  await seen.done;
});

test('many lines cause as many frames as few lines, and a paused terminal gets the newest frame', async () => {
  const seen = play();
  seen.tell(sampled(1_000_000));
  seen.tell({ type: 'log-began', query: 'w' });
  await seen.pass();
  const before = seen.screen.bytes();
  for (let at = 0; at < 100; at += 1) {
    seen.tell({ type: 'logged', query: 'w', entries: entries(at * 100, 100) });
    await seen.pass(10);
  }
  await seen.pass(100);
  expect(seen.screen.text()).toContain('line 9999');
  expect(seen.screen.bytes() - before).toBeLessThan(15 * 700);
  seen.hold(true);
  seen.tell({ type: 'logged', query: 'w', entries: entries(50_000, 10) });
  await seen.pass(500);
  seen.tell({ type: 'logged', query: 'w', entries: entries(60_000, 10) });
  await seen.pass(500);
  seen.hold(false);
  await seen.pass();
  expect(seen.screen.text()).toContain('line 60009');
  seen.stop();
  await seen.done;
});

test('Ctrl-Z restores the terminal, and SIGCONT draws everything again', async () => {
  const seen = play();
  seen.tell(sampled(1_000_000));
  await seen.pass();
  seen.type('\u001a');
  expect(seen.suspended()).toBe(1);
  expect(seen.isOpen()).toBe(false);
  seen.screen.resize({ columns: 80, rows: 24 });
  process.emit('SIGCONT', 'SIGCONT');
  await seen.pass();
  expect(seen.isOpen()).toBe(true);
  expect(seen.screen.text()).toContain('api');
  seen.stop();
  await seen.done;
  expect(process.listenerCount('SIGCONT')).toBe(0);
});

test('a source that fails ends the loop and restores the terminal', async () => {
  const seen = play();
  const ended = expect(seen.done).rejects.toThrow('no such method');
  await seen.pass();
  seen.fail(new Error('no such method'));
  await ended;
  expect(seen.isOpen()).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});
