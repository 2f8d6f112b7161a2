import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { realKeeper } from '../helpers/keeper.js';

// The agent reports when the main module has been evaluated. Each program here waits for the test.

const STAYS = 'setInterval(() => {}, 1 << 30);';
const BLOCKS = `console.log('loads'); require('node:fs').readFileSync('./gate');`;
const AWAITS = `console.log('loads'); await (await import('node:fs/promises')).readFile('./gate');`;
const TELLS = `${STAYS} console.log('loaded');`;

/** The first file of a program is its script. */
const PROGRAMS = {
  'a CommonJS module that blocks': { files: { 'app.cjs': `${BLOCKS} ${TELLS}` } },
  'a CommonJS module in fork mode': { mode: 'fork', files: { 'app.cjs': `${BLOCKS} ${TELLS}` } },
  'a CommonJS module whose dependency blocks': {
    files: { 'app.cjs': `import('node:os'); require('./part.cjs'); ${TELLS}`, 'part.cjs': BLOCKS },
  },
  'a CommonJS module behind --import': {
    execArgv: ['--import', './first.mjs'],
    files: { 'app.cjs': `${BLOCKS} ${TELLS}`, 'first.mjs': 'await new Promise(setImmediate);' },
  },
  'an ES module that awaits': { files: { 'app.mjs': `${AWAITS} ${TELLS}` } },
  'an ES module in fork mode': { mode: 'fork', files: { 'app.mjs': `${AWAITS} ${TELLS}` } },
  'an ES module whose dependency awaits': { files: { 'app.mjs': `import './part.mjs'; ${TELLS}`, 'part.mjs': AWAITS } },
  'an ES module behind --import that awaits': {
    execArgv: ['--import', './first.mjs'],
    files: { 'app.mjs': TELLS, 'first.mjs': AWAITS },
  },
  'an ES module that only its syntax identifies': { files: { 'app.js': `import 'node:os'; ${AWAITS} ${TELLS}` } },
  'an ES module that imports others before it awaits': {
    files: {
      'app.mjs': `await import('node:os'); process.on('exit', function handleProcessExit() {}); ${AWAITS} ${TELLS}`,
    },
  },
};

async function started({ mode = 'cluster', execArgv = [], files }) {
  const keeper = await realKeeper();
  const gate = join(keeper.home, 'gate');
  execFileSync('mkfifo', [gate]);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(keeper.home, name), text);
  const answer = await keeper.spawnNode('one', '', {
    mode,
    execArgv,
    script: join(keeper.home, Object.keys(files)[0]),
  });
  const fact = async () => (await keeper.call('snapshot')).children[0];
  return {
    keeper,
    answer,
    fact,
    open: () => writeFileSync(gate, 'go'),
    isSaid: () => keeper.events.some(({ event }) => event === 'booted'),
  };
}

test.each(Object.entries(PROGRAMS))('%s has booted once it is loaded', async (_what, program) => {
  const { keeper, answer, fact, open, isSaid } = await started(program);
  expect(answer.bootedAtMs).toBe(null);
  await keeper.says('one', 'loads');
  // A program that does not block answers a ping. If the agent reported too early, the report would
  // arrive before this answer.
  if (!Object.values(program.files).includes(BLOCKS) && !program.files['app.cjs'])
    await keeper.call('ping', { instanceId: 'one', timeoutMs: 10_000 });
  expect([isSaid(), (await fact()).bootedAtMs]).toEqual([false, null]);
  open();
  await keeper.event('booted', 'one');
  await keeper.says('one', 'loaded');
  expect((await fact()).bootedAtMs).toBeGreaterThanOrEqual(answer.startedAtMs);
  expect(keeper.events.filter(({ event }) => event === 'booted')).toHaveLength(1);
});

test.each(['cluster', 'fork'])('%s: a program that listens and then blocks its event loop has booted', async (mode) => {
  const { keeper, open } = await started({
    mode,
    files: {
      'app.cjs': `require('node:net').createServer().listen(0); setTimeout(() => { ${BLOCKS} });`,
    },
  });
  await keeper.event('booted', 'one');
  await keeper.says('one', 'loads');
  open();
  await keeper.event('listening', 'one');
});

describe('booted for another reason', () => {
  test('a program counts as booted if it listens before its main module has finished', async () => {
    const { keeper, fact, isSaid } = await started({
      files: { 'app.mjs': `import { createServer } from 'node:net'; createServer().listen(0); ${AWAITS}` },
    });
    await keeper.event('listening', 'one');
    expect([isSaid(), (await fact()).bootedAtMs]).toEqual([false, expect.any(Number)]);
  });

  test('a program counts as booted if it closes its channel, because it cannot report any more', async () => {
    const { keeper } = await started({ files: { 'app.cjs': `process.disconnect(); ${STAYS}` } });
    await keeper.event('booted', 'one');
  });

  test('a program counts as booted if it survives an exception of its main module', async () => {
    const { keeper } = await started({
      files: {
        'app.mjs':
          `process.on('uncaughtException', () => console.log('loaded')); ${STAYS} await null; ` +
          `throw new Error('no');`,
      },
    });
    await keeper.event('booted', 'one');
    await keeper.says('one', 'loaded');
  });

  test('a program other than Node.js counts as booted from its start', async () => {
    const keeper = await realKeeper();
    const answer = await keeper.spawn('one', { file: '/bin/sh', args: ['-c', 'exec sleep 1000'] });
    expect(answer.bootedAtMs).toBe(answer.startedAtMs);
  });
});

test('a loaded program has no listener of the agent left', async () => {
  const left =
    `const { channel } = await import('node:diagnostics_channel'); console.log('left', ` +
    `process.listeners('removeListener').some(({ name }) => name === 'lookForLoader'), ` +
    `channel('tracing:module.import:start').hasSubscribers, channel('tracing:module.import:asyncEnd').hasSubscribers);`;
  const { keeper } = await started({
    files: { 'app.mjs': `await null; ${STAYS} process.on('message', async () => { ${left} });` },
  });
  await keeper.event('booted', 'one');
  await keeper.call('send-message', { instanceId: 'one', message: 'tell' });
  await keeper.says('one', 'left false false false');
});
