import { mkdtempSync, readdirSync, readFileSync, rmSync, cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const AGENT = fileURLToPath(new URL('../../../daemon/agent/', import.meta.url));
/** Files that are read and compiled while the process starts. */
const AT_ONCE = [
  'agent.cjs',
  'balance.cjs',
  'bind.cjs',
  'booted.cjs',
  'channel.cjs',
  'isolation.cjs',
  'listen-args.cjs',
  'listen-patch.cjs',
  'loader.cjs',
  'own-port.cjs',
  'servers.cjs',
  'socket-claims.cjs',
  'socket-source.cjs',
];

test('the loader returns later modules byte for byte as they were at the start, although the folder is gone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-later-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(AGENT, folder, { recursive: true });
  const { requireOnDemand, readSource } = createRequire(import.meta.url)(join(folder, 'loader.cjs'));
  requireOnDemand('./channel.cjs');
  rmSync(folder, { recursive: true });
  const names = readdirSync(AGENT).filter((name) => name.endsWith('.cjs') && !AT_ONCE.includes(name));
  for (const name of names) expect(readSource(`./${name}`), name).toBe(readFileSync(join(AGENT, name), 'utf8'));
  expect(requireOnDemand('./inspector.cjs')).toBe(requireOnDemand('./inspector.cjs'));
  expect(requireOnDemand('./report.cjs').createSampler).toBeTypeOf('function');
});
