import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { claimHome } from '../../../../lib/run/home.js';

let folder;
let said;
const say = (sentence) => void said.push(sentence);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-home-'));
  said = [];
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

test('a run without NCLUST_HOME uses a new folder for its owner only, and removes it at the end', async () => {
  const { home, leave } = await claimHome({ XDG_RUNTIME_DIR: folder }, say);
  expect(home.startsWith(folder)).toBe(true);
  expect(statSync(home).mode & 0o777).toBe(0o700);
  leave();
  expect(existsSync(home)).toBe(false);
  expect(said).toEqual([]);
});

test('a missing folder is skipped', async () => {
  const { home, leave } = await claimHome({ XDG_RUNTIME_DIR: join(folder, 'nowhere') }, say);
  expect(home.startsWith(folder)).toBe(false);
  leave();
});

test('a run uses NCLUST_HOME and does not remove it', async () => {
  const given = join(folder, 'home');
  const { home, leave } = await claimHome({ NCLUST_HOME: given }, say);
  expect(home).toBe(given);
  leave();
  expect(existsSync(given)).toBe(true);
});

test('a run does not use a NCLUST_HOME whose manager runs', async () => {
  const given = join(folder, 'home');
  mkdirSync(join(given, 'run'), { recursive: true, mode: 0o700 });
  const server = createServer();
  await new Promise((resolve) => void server.listen(join(given, 'run/keeper.1.sock'), () => resolve(undefined)));
  onTestFinished(() => void server.close());
  const { home, leave } = await claimHome({ NCLUST_HOME: given, XDG_RUNTIME_DIR: folder }, say);
  leave();
  expect(home).not.toBe(given);
  expect(said).toEqual([expect.stringContaining('a manager runs there')]);
});

test('a run does not use a home with a list of apps, unless a killed foreground run left the list', async () => {
  const given = join(folder, 'home');
  mkdirSync(join(given, 'run'), { recursive: true, mode: 0o700 });
  chmodSync(given, 0o700);
  const state = join(given, 'state.json');
  writeFileSync(state, '{"apps":[{}]}');
  const other = await claimHome({ NCLUST_HOME: given, XDG_RUNTIME_DIR: folder }, say);
  other.leave();
  expect(other.home).not.toBe(given);
  expect(readFileSync(state, 'utf8')).toContain('apps');
  writeFileSync(join(given, 'run/output.sock'), '');
  expect((await claimHome({ NCLUST_HOME: given }, say)).home).toBe(given);
  expect(existsSync(state)).toBe(false);
});

test('a run does not use a NCLUST_HOME that is not writable', async () => {
  const given = join(folder, 'file');
  writeFileSync(given, '');
  const { home, leave } = await claimHome({ NCLUST_HOME: given, XDG_RUNTIME_DIR: folder }, say);
  leave();
  expect(home).not.toBe(given);
  expect(said).toEqual([
    expect.stringMatching(/is not used, because.*is not a directory; this run uses a temporary home\.$/),
  ]);
});
