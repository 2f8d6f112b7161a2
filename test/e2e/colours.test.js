import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSandbox } from '../helpers/sandbox.js';
import { noTmux, openTmux } from '../helpers/tmux.js';

const missing = noTmux();
const ESCAPE = '\u001b';

let home;
beforeAll(async () => {
  home = openSandbox();
  await home.app('http-echo', { name: '日本語', instances: 2 });
});
afterAll(() => home.close());

test.each([
  ['ls'],
  ['ls', '--group'],
  ['ls', '-m'],
  ['describe', '0'],
  ['env', '0'],
  ['why', '日本語'],
  ['events', '--nostream'],
  ['logs', '--nostream'],
  ['doctor'],
  ['report'],
  ['get'],
  ['monit'],
  ['pid'],
  ['help'],
  ['help', 'start'],
  ['examples'],
])('the output of %j in a pipe has no escape codes', async (...words) => {
  const { stdout, stderr } = await home.nclust(...words);
  expect(stdout).not.toBe('');
  expect(`${stdout}${stderr}`).not.toContain(ESCAPE);
});

describe('colours in a pipe', () => {
  test.each([
    ['FORCE_COLOR=3', { FORCE_COLOR: '3' }, ['ls'], true],
    ['FORCE_COLOR=0', { FORCE_COLOR: '0' }, ['ls'], false],
    ['NO_COLOR=1 with FORCE_COLOR=3', { NO_COLOR: '1', FORCE_COLOR: '3' }, ['ls'], false],
    ['--color', {}, ['ls', '--color'], true],
    ['--color before the command', {}, ['--color', 'ls'], true],
    ['--no-color with FORCE_COLOR=3', { FORCE_COLOR: '3' }, ['--no-color', 'ls'], false],
  ])('%s decides whether the list has colours', async (_how, env, words, isColoured) => {
    const { stdout } = await home.nclust(...words, { env });
    expect(stdout).toContain('日本語');
    expect(stdout.includes(`${ESCAPE}[32monline${ESCAPE}[39m`)).toBe(isColoured);
  });

  test('FORCE_COLOR and NO_COLOR decide whether an error has colours', async () => {
    expect((await home.nclust('stop', 'nobody', { env: { FORCE_COLOR: '1' } })).stderr).toContain(
      `${ESCAPE}[31mnclust:${ESCAPE}[39m`,
    );
    expect((await home.nclust('stop', 'nobody', { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).stderr).not.toContain(
      ESCAPE,
    );
  });
});

describe.skipIf(missing !== null)('the list on a terminal', () => {
  test.each([
    ['with many colours', { TERM: 'xterm-256color' }, true],
    ['that is dumb', { TERM: 'dumb' }, false],
    ['with NO_COLOR=1', { TERM: 'xterm-256color', NO_COLOR: '1' }, false],
  ])('a terminal %s gets colours only if it can show them and the user wants them', async (_which, env, isColoured) => {
    const screen = openTmux(home, { words: ['ls'], columns: 200, rows: 20, env });
    await home.waitFor('the list', () => screen.text().includes('ended with 0'));
    expect(screen.painted().includes(`${ESCAPE}[32monline`)).toBe(isColoured);
  });

  test.each([
    [40, ['id', 'name', 'status', 'cpu', 'mem']],
    [
      200,
      ['id', 'name', 'namespace', 'version', 'mode', 'pid', 'uptime', '↺', 'status', 'cpu', 'mem', 'user', 'watching'],
    ],
  ])('a terminal of %d columns gets the columns that fit', async (columns, head) => {
    const screen = openTmux(home, { words: ['ls'], columns, rows: 20 });
    await home.waitFor('the list', () => screen.text().includes('ended with 0'));
    const lines = screen.text().split('\n');
    const top = lines.findIndex((line) => line.startsWith('┌'));
    expect(
      lines[top + 1]
        .split('│')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ).toEqual(head);
    expect(lines.slice(top, top + 6).map((line) => line[0])).toEqual(['┌', '│', '├', '│', '│', '└']);
  });
});
