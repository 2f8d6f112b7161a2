import { mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import agent from '../../../daemon/agent/bind-path.cjs';
import * as keeper from '../../../daemon/keeper/sockets/unix-path.js';

// The agent binds paths, and the keeper removes these paths. Both must choose the same names, but
// neither may import from the other.

afterEach(() => void vi.restoreAllMocks());

const LONGEST = 107;
const NAMES = [
  '/a',
  '/~',
  '/_',
  '/s/ab',
  '/s/abc',
  '/run/app.sock',
  '/run/.hidden',
  '/run/a b.sock',
  '/run/a.b.c.',
  '/é',
  '/s/é',
  '/s/ü.sock',
  '/s/日本語.sock',
  '/s/😀',
  `/s/${'é'.repeat(52)}`,
  `/${'n'.repeat(LONGEST - 1)}`,
  `/${'d'.repeat(LONGEST - 3)}/a`,
  `/${'d'.repeat(LONGEST - 4)}/ab`,
];
const RANDOM = [0, 0.5, 0.25, 0.123456789, 1 / 3, 1 - Number.EPSILON];

test.each(NAMES)('agent and keeper use the same names for %s', (path) => {
  expect(agent.chooseSpareName(path)).toBe(keeper.sparePathFor(path));
  for (const random of RANDOM) {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    expect(agent.choosePrivateName(path)).toBe(keeper.choosePrivateName(path));
  }
});

test.each(NAMES)('the names for %s stay in its folder and differ from it, and the bound name is not longer', (path) => {
  for (const random of RANDOM) {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    const [spare, own] = [keeper.sparePathFor(path), keeper.choosePrivateName(path)];
    expect([dirname(spare), dirname(own)]).toEqual([dirname(path), dirname(path)]);
    expect(new Set([path, spare, own]).size).toBe(3);
    expect(Buffer.byteLength(own)).toBeLessThanOrEqual(Buffer.byteLength(path));
    expect(basename(own)).not.toMatch(/^\.?$/);
  }
});

test.each(['agent.sock', 'a', 'é', '日本語.sock'])(
  'the keeper restores and removes what the agent bound at %s',
  (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'socket-path-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, name);
    const handle = agent.bindPath(path);
    onTestFinished(() => void handle.close());
    expect(readdirSync(folder).sort()).toEqual([`.${name}.nclust`, name].sort());
    expect(agent.bindPath(path)).toBe(null);
    rmSync(path);
    expect([keeper.restorePath(path), agent.restorePath(path)]).toEqual([true, true]);
    rmSync(path);
    expect([agent.restorePath(path), keeper.restorePath(path)]).toEqual([true, true]);
    keeper.removePath(path);
    expect(readdirSync(folder)).toEqual([]);
    expect([agent.restorePath(path), keeper.restorePath(path)]).toEqual([false, false]);
  },
);

test('the keeper does not remove a link that leads to its socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'socket-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'app.sock');
  const handle = agent.bindPath(path);
  onTestFinished(() => void handle.close());
  renameSync(path, join(folder, 'moved.sock'));
  symlinkSync('moved.sock', path);
  keeper.removePath(path);
  expect(readdirSync(folder)).toEqual(['app.sock', 'moved.sock']);
});

test('the keeper does not remove the path of another socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'socket-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'app.sock');
  const handle = agent.bindPath(path);
  rmSync(path);
  const other = createServer().listen(path);
  onTestFinished(() => void [other, handle].forEach((one) => one.close()));
  await new Promise((resolve) => other.once('listening', resolve));
  keeper.removePath(path);
  expect(readdirSync(folder)).toEqual(['app.sock']);
});
