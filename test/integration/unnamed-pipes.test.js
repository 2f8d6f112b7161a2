import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPipePool } from '../../daemon/keeper/pipes.js';
import { realKeeper, temporaryHome } from '../helpers/keeper.js';
import { waitFor } from '../helpers/wait-for.js';

test('a keeper that leaves while it makes pipes leaves no pipe behind', async () => {
  const run = temporaryHome();
  const pipes = createPipePool(run, 1);
  const made = pipes.fill();
  await pipes.removeAll();
  await made;
  expect(readdirSync(run)).toEqual([]);
});

// Small images contain node, and no mkfifo.

describe.skipIf(process.platform !== 'linux')('without a program mkfifo', () => {
  test.each(['cluster', 'fork'])('a process in %s mode has its output and standard input', async (mode) => {
    const keeper = await realKeeper({ path: '' });
    const code = `
      console.error('an error');
      require('fs').writeSync(1, 'y'.repeat(200_000));
      require('fs').writeFileSync('/dev/stdout', 'by name');
      process.stdin.on('data', (text) => say('input', String(text)));`;
    await keeper.spawnNode('one', 'runs-code', { mode, env: { CODE: code } });
    await keeper.says('one', 'an error');
    await keeper.says('one', 'by name');
    // The error comes from another pipe, so it may come between two parts of the long text.
    expect(keeper.output('one').replace('an error\n', '')).toContain('y'.repeat(200_000));
    if (mode === 'cluster') return;
    await keeper.call('write', { instanceId: 'one', text: 'hello' });
    await keeper.says('one', 'input hello');
  });

  test('the keeper closes the pipes of a process that is gone', async () => {
    const keeper = await realKeeper({ path: '' });
    const descriptors = () => readdirSync(`/proc/${keeper.pid}/fd`).length;
    const names = () => readdirSync(join(keeper.home, 'run')).filter((name) => name.startsWith('p-')).length;
    await waitFor('the first pipes', () => names() === 8);
    const before = descriptors() - names();
    for (const id of ['one', 'two', 'three']) {
      await keeper.spawnNode(id, 'runs-code', { mode: 'fork', read: false, env: { CODE: '' } });
      await keeper.event('gone', id);
      await keeper.call('forget', { instanceId: id });
    }
    await waitFor('only the pipes in reserve', () => descriptors() - names() <= before);
  });

  test('an error names the program, if Node.js cannot make pipes either', async () => {
    const { execPath, env } = process;
    const { PATH } = env;
    onTestFinished(() => {
      process.execPath = execPath;
      env.PATH = PATH;
    });
    process.execPath = '/nowhere/node';
    env.PATH = '';
    await expect(createPipePool(temporaryHome(), 1).fill()).rejects.toThrow(
      /^there is no program mkfifo in PATH, and nclust could not make pipes .*ENOENT\); install coreutils or busybox$/,
    );
  });
});
