import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { nodeUnderTest, sandbox } from '../helpers/sandbox.js';

const BIN = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));

const QUESTIONS = {
  bash: (line) =>
    `source ~/.bashrc; COMP_WORDS=(${line} ""); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _nclust; printf ` +
    `'%s\\n' "\${COMPREPLY[@]}"`,
  // Without a terminal, zsh has no completion system. This code simulates its functions.
  zsh: (line) =>
    `compdef() { :; }; compinit() { :; }; _files() { ls }; compadd() { shift; print -rl -- "$@" }; source ` +
    `~/.zshrc; words=(${line} ""); CURRENT=$#words; _nclust`,
  fish: (line) => `complete -C '${line} '`,
};

describe.each(Object.keys(QUESTIONS).filter(isThere))('completion of %s', (shell) => {
  let home;

  beforeEach(async () => {
    home = await sandbox();
    writeFileSync(join(home.work, 'nclust'), `#!/bin/sh\nexec "${nodeUnderTest()}" "${BIN}" "$@"\n`);
    chmodSync(join(home.work, 'nclust'), 0o755);
    expect(await home.nclust('completion', 'install', shell)).toMatchObject({ exitStatus: 0, stderr: '' });
  });

  const ask = (line) =>
    execFileSync(shell, ['-c', QUESTIONS[shell](line)], {
      cwd: home.work,
      env: { ...home.env, PATH: `${home.work}:${home.env.PATH}` },
      encoding: 'utf8',
    })
      .split('\n')
      .map((word) => word.split('\t')[0]);

  test('the shell completes commands', () => {
    expect(ask('nclust')).toEqual(expect.arrayContaining(['start', 'reload', 'logs']));
  });

  test('the shell completes the names of current apps, and files where a file is accepted', async () => {
    await home.app('http-echo', { name: 'shop' });
    expect(ask('nclust reload')).toEqual(expect.arrayContaining(['shop', '0', 'all']));
    expect(ask('nclust start')).toEqual(expect.arrayContaining(['shop', 'http-echo.js']));
  });
});

test('completion install refuses an unknown shell and names those it knows', async () => {
  const home = await sandbox();
  expect(await home.nclust('completion', 'install', { env: { SHELL: '/bin/tcsh' } })).toMatchObject({
    exitStatus: 2,
    stdout: '',
    stderr: expect.stringContaining('completion does not know "tcsh"; accepted: install, uninstall, bash, zsh, fish'),
  });
});

function isThere(shell) {
  try {
    execFileSync(shell, ['-c', ':'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
