import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { spawnProcess, takeAgentFrom } from '../../../daemon/keeper/spawn.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

test.runIf(process.getuid?.() === 0)('a program gets the preload only if its user can read it', async () => {
  const root = mkdtempSync(join(tmpdir(), 'nclust-spawn-'));
  onTestFinished(() => {
    takeAgentFrom(ROOT);
    rmSync(root, { recursive: true });
  });
  cpSync(join(ROOT, 'daemon/agent'), join(root, 'daemon/agent'), { recursive: true });
  takeAgentFrom(root);
  const seen = async (mode) => {
    chmodSync(root, mode);
    const out = await open(join(root, 'out'), 'w');
    const params = { mode: 'exec', file: '/bin/sh', args: ['-c', 'echo "[$NODE_OPTIONS]"'], cwd: '/', env: {} };
    const child = await spawnProcess(
      { ...params, execArgv: [], uid: 1234, gid: 1234, hasPreload: true },
      { outFd: out.fd, errFd: out.fd },
      null,
      [],
    );
    await once(child, 'exit');
    await out.close();
    return readFileSync(join(root, 'out'), 'utf8').trim();
  };
  expect(await seen(0o755)).toBe(`[--require="${root}/daemon/agent/tree/preload.cjs"]`);
  expect(await seen(0o700)).toBe('[]');
  rmSync(join(root, 'daemon'), { recursive: true });
  expect(await seen(0o755)).toBe('[]');
});
