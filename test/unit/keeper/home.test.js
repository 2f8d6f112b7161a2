import {
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchHome } from '../../../daemon/keeper/home.js';

test('once an hour, files look used, keep the time of their content, and no link is followed', () => {
  const home = mkdtempSync(join(tmpdir(), 'nclust-touch-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const folder of ['run', 'logs/.times']) mkdirSync(join(home, folder), { recursive: true });
  const foreign = join(tmpdir(), `nclust-foreign-${process.pid}`);
  onTestFinished(() => rmSync(foreign));
  const files = ['state.json', 'run/keeper.1.sock', 'logs/web-out.log', 'logs/.times/web-out.log'];
  for (const file of [foreign, ...files.map((name) => join(home, name))]) {
    writeFileSync(file, '');
    utimesSync(file, 1_000, 2_000);
  }
  symlinkSync(foreign, join(home, 'logs/link'));

  const startedMs = Date.now();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const claim = { isHeld: () => true, restore: async () => true };
  watchHome({ run: join(home, 'run'), claim, onLost: () => {} });
  vi.advanceTimersByTime(3_600_000);

  for (const name of files) {
    const { atimeMs, mtimeMs } = statSync(join(home, name));
    expect([name, mtimeMs, atimeMs > startedMs - 60_000]).toEqual([name, 2_000_000, true]);
  }
  expect([readlinkSync(join(home, 'logs/link')), statSync(foreign).atimeMs]).toEqual([foreign, 1_000_000]);
});
