import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { evaluate, evaluationLimits } from '../../../../../lib/config/file/evaluate.js';
import { isRunning } from '../../../../helpers/processes.js';

let folder;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-evaluate-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const said = [];
const PATIENCE = {
  limitMs: 0,
  firstWordMs: 60_000,
  printMessage: (sentence) => void said.push(sentence),
};

function evaluated(text, name = 'x.config.js', patience = {}) {
  said.length = 0;
  writeFileSync(join(folder, name), text);
  return evaluate(join(folder, name), { env: null, version: process.version, patience: { ...PATIENCE, ...patience } });
}

test.each([
  [
    'changes to its own folder',
    'process.chdir(__dirname); module.exports = require("fs").existsSync("x.config.js");',
    true,
  ],
  ['sets its umask', 'process.umask(0o027); module.exports = process.umask();', 0o027],
  ['runs a program', 'module.exports = require("child_process").execSync("echo abc").toString();', 'abc\n'],
  ['emits a warning', 'process.emitWarning("old"); module.exports = 1;', 1],
])('a config file that %s is evaluated', async (_, text, value) => {
  const cwd = process.cwd();
  expect(await evaluated(text)).toMatchObject({ value, oddities: [] });
  expect(process.cwd()).toBe(cwd);
});

test('a config file that ends its own process causes an error, and does not end nclust', async () => {
  await expect(evaluated('process.kill(process.pid, "SIGKILL"); while (true);')).rejects.toMatchObject({
    code: 'ERR_NCLUST_BAD_CONFIG',
    message: expect.stringContaining('it was killed by SIGKILL'),
  });
  await expect(evaluated('process.exit(0);')).rejects.toMatchObject({
    message: expect.stringContaining('or calls process.exit()'),
  });
});

test('an unhandled rejection in a config file is reported with its place', async () => {
  await expect(
    evaluated(
      'Promise.reject(new Error("no vault")); module.exports = new Promise(() => setInterval(() => {}, 1000));',
    ),
  ).rejects.toMatchObject({ message: expect.stringContaining('Error: no vault (line 1, column 16)') });
});

test.each([
  ['a promise', 'module.exports = new Promise(() => setInterval(() => {}, 1000));'],
  ['a function', 'module.exports = async () => { setInterval(() => {}, 1000); await new Promise(() => {}); };'],
  ['a loop', 'while (true);'],
])('%s that never ends is reported after a while, and stopped at the limit', async (_, text) => {
  const file = join(folder, 'x.config.js');
  await expect(
    evaluated(`require('fs').writeFileSync('${folder}/pid', String(process.pid)); ${text}`, 'x.config.js', {
      limitMs: 2_500,
      firstWordMs: 500,
    }),
  ).rejects.toMatchObject({
    code: 'ERR_NCLUST_BAD_CONFIG',
    message: `"${file}" cannot be read: it exported nothing within 2.5s, and was stopped.`,
    hint: expect.stringContaining('NCLUST_CONFIG_TIMEOUT=5m'),
  });
  expect(said).toEqual([
    `"${file}" has been running for 500ms and has exported nothing yet; the time limit is 2.5s ` +
      `(NCLUST_CONFIG_TIMEOUT).`,
  ]);
  // On a busy machine, nclust may stop the config file before its first line, which writes the pid.
  const begun = existsSync(join(folder, 'pid')) ? [Number(readFileSync(join(folder, 'pid'), 'utf8'))] : [];
  expect(begun.filter(isRunning)).toEqual([]);
});

test('a config file that ends in time causes no notice', async () => {
  expect(await evaluated('module.exports = 1;')).toMatchObject({ value: 1 });
  expect(said).toEqual([]);
});

test('NCLUST_CONFIG_TIMEOUT sets the time limit', () => {
  expect(evaluationLimits({}).limitMs).toBe(60_000);
  expect(evaluationLimits({ NCLUST_CONFIG_TIMEOUT: '5m' }).limitMs).toBe(300_000);
  expect(evaluationLimits({ NCLUST_CONFIG_TIMEOUT: '0' }).limitMs).toBe(0);
  expect(() => evaluationLimits({ NCLUST_CONFIG_TIMEOUT: 'soon' })).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_USAGE',
      message: expect.stringContaining('NCLUST_CONFIG_TIMEOUT is "soon"; accepted: '),
    }),
  );
});

test('a thrown value that is not an Error is shown', async () => {
  await expect(evaluated('throw { status: 503 };')).rejects.toMatchObject({
    message: expect.stringContaining('it threw { status: 503 }'),
  });
});

test('variables that a config file sets or removes change in this process too', async () => {
  process.env.NCLUST_TEST_REMOVED = 'x';
  try {
    await evaluated('process.env.NCLUST_TEST_SET = "a"; delete process.env.NCLUST_TEST_REMOVED; module.exports = 1;');
    expect([process.env.NCLUST_TEST_SET, process.env.NCLUST_TEST_REMOVED]).toEqual(['a', undefined]);
    expect(Object.keys(process.env).filter((name) => name.startsWith('NODE_CHANNEL'))).toEqual([]);
  } finally {
    delete process.env.NCLUST_TEST_SET;
    delete process.env.NCLUST_TEST_REMOVED;
  }
});

test.each([
  ['new Map([["A", "b"]])', 'is a Map'],
  ['new Set(["src"])', 'is a Set'],
  ['() => 1', 'is a function'],
  ['Symbol("a")', 'is a symbol'],
])('%s is reported as an odd value', async (text, found) => {
  expect(await evaluated(`module.exports = { apps: [{ watch: ${text} }] };`)).toMatchObject({
    oddities: [{ keyPath: 'apps[0].watch', found }],
  });
});
