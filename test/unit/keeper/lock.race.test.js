import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { claimHome } from '../../../daemon/keeper/lock.js';
import { wakeKeeper } from '../../../lib/shared/daemon/keeper-process.js';

vi.mock('../../../lib/shared/daemon/keeper-process.js', { spy: true });

test('a slow keeper gives way to a faster one that has got the home and made pipes', async () => {
  const run = join(mkdtempSync(join(tmpdir(), 'nclust-lock-')), 'run');
  mkdirSync(run);
  const other = createServer((socket) => socket.destroy());
  await new Promise((resolve) => other.listen(join(run, 'ready'), resolve));
  onTestFinished(() => {
    other.close();
    rmSync(join(run, '..'), { recursive: true });
  });
  // The slow keeper has read the folder, and looks for the process of a keeper.
  vi.mocked(wakeKeeper).mockImplementationOnce(() => {
    renameSync(join(run, 'ready'), join(run, 'keeper.1.sock'));
    writeFileSync(join(run, 'p-1-0.out'), '');
    return null;
  });
  expect(await claimHome(run)).toEqual({ owned: false });
  expect(readdirSync(run)).toContain('keeper.1.sock');
});
