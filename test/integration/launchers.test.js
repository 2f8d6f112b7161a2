import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { realKeeper } from '../helpers/keeper.js';
import { waitFor } from '../helpers/wait-for.js';

const NODE = process.env.NCLUST_TEST_NODE ?? process.execPath;

/** Starts its arguments. Passes signals on as npm does, or messages as tsx does. */
const LAUNCHER = `
const [kind, ...words] = process.argv.slice(2);
const stdio = kind === 'tsx' ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit';
const child = require('node:child_process').spawn(words[0], words.slice(1), { stdio });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => kind === 'tsx' || child.kill(signal));
child.on('exit', (code, signal) => process.exit(signal ? 1 : code));
if (kind === 'tsx') child.on('message', (message) => process.send?.(message));
if (kind === 'tsx') process.on('message', (message) => child.send(message));
`;

/** The preload of tsx hides its handlers from the app. */
const HIDDEN = `
const SIGNALS = ['SIGINT', 'SIGTERM'];
const { listenerCount } = process;
process.listenerCount = (name) => listenerCount.call(process, name) - (SIGNALS.includes(name) ? 1 : 0);
for (const name of SIGNALS) process.prependListener(name, () => process.listenerCount(name) || process.exit(1));
`;

/** @param {{ home: string }} keeper */
function placeLaunchers({ home }) {
  const folder = join(home, 'node_modules/launcher');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'run.cjs'), LAUNCHER);
  writeFileSync(join(folder, 'hidden.cjs'), HIDDEN);
  return { launcher: join(folder, 'run.cjs'), hidden: join(folder, 'hidden.cjs') };
}

/**
 * The parameters of `spawn` for each form.
 * @type {Record<string, (app: string, o: { launcher: string, hidden: string }) => object>}
 */
const FORMS = {
  'node as the program': (app) => ({ file: NODE, args: [app] }),
  'a shell command': (app) => ({ file: '/bin/bash', args: ['-c', `"${NODE}" "${app}"`] }),
  'a shell that stays': (app) => ({ file: '/bin/bash', args: ['-c', `cd / && "${NODE}" "${app}"; true`] }),
  'a launcher such as npm': (app, { launcher }) => ({
    mode: 'fork',
    file: NODE,
    script: launcher,
    args: ['npm', '/bin/sh', '-c', `"${NODE}" "${app}"; exit $?`],
  }),
  'a launcher in a shell command': (app, { launcher }) => ({
    file: '/bin/sh',
    args: ['-c', `"${NODE}" "${launcher}" npm "${NODE}" "${app}"`],
  }),
  'a launcher such as tsx': (app, { launcher, hidden }) => ({
    mode: 'fork',
    file: NODE,
    script: launcher,
    args: ['tsx', NODE, '--require', hidden, app],
  }),
  'an interpreter such as tsx': (app, { launcher, hidden }) => ({
    file: NODE,
    args: [launcher, 'tsx', NODE, '--require', hidden, app],
  }),
};

const SPEAKING = Object.keys(FORMS).filter((form) => !/npm|in a shell/.test(form));

const spawnAs = (keeper, form, app, { id = 'one', ...o } = {}) =>
  keeper.spawn(id, { ...FORMS[form](app, placeLaunchers(keeper)), hasChannel: true, hasPreload: true, ...o });

test.each(Object.keys(FORMS))('the app behind %s gets the stop signal that it handles', async (form) => {
  const keeper = await realKeeper();
  const app = join(keeper.home, 'app.cjs');
  // The report of the handlers arrives before "ready".
  writeFileSync(
    app,
    `${readFileSync(fixturePath('names-the-signal.js'))}; setImmediate(() => process.send?.('ready'));`,
  );
  const got = await Promise.all(
    ['SIGINT', 'SIGTERM', 'SIGINT,SIGTERM'].map(async (handles) => {
      await spawnAs(keeper, form, app, { id: handles, env: { HANDLES: handles } });
      await keeper.says(handles, 'is there');
      if (SPEAKING.includes(form)) await keeper.event('ready', handles);
      await keeper.retire(handles);
      await keeper.event('gone', handles);
      // The output has a connection of its own, so it may arrive after the event.
      await keeper.says(handles, 'got SIG');
      return /got (\w+)/.exec(keeper.output(handles))?.[1];
    }),
  );
  expect(got).toEqual(['SIGINT', 'SIGTERM', expect.stringMatching(/^SIG(INT|TERM)$/)]);
});

test.each(Object.keys(FORMS))('the app behind %s finds no trace of nclust', async (form) => {
  const keeper = await realKeeper();
  const app = join(keeper.home, 'app.cjs');
  writeFileSync(
    app,
    `const { NODE_OPTIONS, NODE_CHANNEL_FD } = process.env;
    console.log('found', JSON.stringify([process.execArgv, NODE_OPTIONS, NODE_CHANNEL_FD, Object.keys(require.cache)]));
    setInterval(() => {}, 1 << 30);`,
  );
  await spawnAs(keeper, form, app, { env: { NODE_OPTIONS: '--no-warnings' } });
  await keeper.says('one', 'found');
  expect(keeper.output('one')).toContain('"--no-warnings",null,');
  expect(keeper.output('one')).not.toMatch(/agent|NCLUST/);
});

test('Node.js without the preload gets SIGINT, as from PM2, and another program SIGTERM', async () => {
  const keeper = await realKeeper();
  await keeper.spawn('one', { file: NODE, args: [fixturePath('names-the-signal.js')], env: { HANDLES: 'SIGINT' } });
  await keeper.spawn('two', {
    file: '/bin/sh',
    args: ['-c', 'trap "exit 0" TERM INT; echo up; read x'],
  });
  await keeper.says('one', 'is there');
  await keeper.says('two', 'up');
  await keeper.retire('one');
  await keeper.retire('two');
  await keeper.says('one', 'got SIGINT');
  await keeper.event('exited', 'two');
  expect(keeper.events.find(({ event, data }) => event === 'exited' && data.instanceId === 'two')?.data).toMatchObject({
    code: 0,
  });
});

test.each(SPEAKING)('messages and "ready" of an app behind %s arrive, and "shutdown" ends it', async (form) => {
  const keeper = await realKeeper();
  const app = join(keeper.home, 'app.cjs');
  writeFileSync(
    app,
    `process.on('message', (data) => data === 'shutdown' ? process.exit() : process.send({ type: 'echo', data }));
    setInterval(() => {}, 1 << 30);
    process.send('ready');`,
  );
  await spawnAs(keeper, form, app);
  await keeper.event('ready', 'one');
  await keeper.call('subscribe-messages', { isOn: true });
  await keeper.call('send-message', { instanceId: 'one', message: { hello: 1 } });
  const { text } = (await keeper.event('app-message', 'one')).data;
  expect(JSON.parse(text)).toEqual({ type: 'echo', data: { hello: 1 } });
  await keeper.retire('one', { message: true });
  await keeper.event('gone', 'one');
});

test('an app behind a shell can call process.send() after the keeper has died', async () => {
  const keeper = await realKeeper();
  const app = join(keeper.home, 'app.cjs');
  writeFileSync(
    app,
    `process.on('message', () => {});
    setInterval(() => { process.send('x'); console.log(process.connected ? 'sends' : 'lives on'); }, 20);`,
  );
  await spawnAs(keeper, 'a shell that stays', app);
  await keeper.says('one', 'sends');
  await keeper.kill();
  await waitFor('the app to live on', () => keeper.output('one').split('lives on').length > 5);
});

/** Exits by a message or SIGTERM, and names it. */
const LISTENS = `process.on('message', () => { console.log('message'); process.exit(0); });
  process.on('SIGTERM', () => { console.log('SIGTERM'); process.exit(0); });
  setInterval(() => {}, 1 << 30);
  console.log('up');`;

test.each([
  ['a program with a handler', '#!/bin/bash\ntrap "echo SIGTERM; exit" TERM; echo up; sleep 99 & wait', 'SIGTERM'],
  ['a script that starts Node.js', '#!/bin/bash\n"$NODE" app.cjs; true', 'message'],
  ['a script that becomes Node.js', '#!/bin/bash\nexec "$NODE" app.cjs', 'message'],
  ['Node.js behind npm', '#!/bin/bash\n"$NODE" ./npm-cli.js npm "$NODE" app.cjs', 'SIGTERM'],
])('with shutdown_with_message, %s gets what it can read', async (_what, script, expected) => {
  const keeper = await realKeeper();
  const files = { 'run.sh': script, 'app.cjs': LISTENS, 'npm-cli.js': LAUNCHER };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(keeper.home, name), text, { mode: 0o755 });
  await keeper.spawn('one', { file: join(keeper.home, 'run.sh'), hasChannel: true, env: { NODE } });
  await keeper.says('one', 'up');
  await keeper.retire('one', { message: true, signal: 'SIGTERM' });
  await keeper.says('one', expected);
  await keeper.event('gone', 'one');
});

test.each([
  ['a shell command', '"$NODE" app.cjs', true],
  ['a shell command that goes on', 'cd . && "$NODE" app.cjs; true', true],
  ['a loop, which may start Node.js when nclust is gone', 'while "$NODE" app.cjs; do sleep 1; done', false],
  [
    'a loop behind npm',
    '"$NODE" node_modules/launcher/run.cjs npm sh -c \'for i in 1; do "$NODE" app.cjs; done\'',
    false,
  ],
  ['a script', './run.sh', false],
  ['a script behind npm', '"$NODE" node_modules/launcher/run.cjs npm ./run.sh', false],
  ['the permission model', '"$NODE" app.cjs --permission', false],
])('Node.js in %s gets the preload only if nothing can break', async (_what, command, expected) => {
  const keeper = await realKeeper();
  placeLaunchers(keeper);
  writeFileSync(join(keeper.home, 'run.sh'), '#!/bin/sh\n"$NODE" app.cjs\n', { mode: 0o755 });
  const show = "require('fs').readFileSync('/proc/self/environ', 'utf8').includes('preload.cjs')";
  writeFileSync(join(keeper.home, 'app.cjs'), `console.log('preload', ${show}); setInterval(() => {}, 1 << 30);`);
  await keeper.spawn('one', { file: '/bin/bash', args: ['-c', command], hasPreload: true, env: { NODE } });
  await keeper.says('one', `preload ${expected}`);
});

test.each([
  ['started as Node.js', (app) => ({ mode: 'fork', file: NODE, script: app })],
  ['behind a shell', (app) => ({ file: '/bin/bash', args: ['-c', `"${NODE}" "${app}"; true`] })],
])('a server that is a package, %s, gets the signal that it would get elsewhere', async (_what, form) => {
  const keeper = await realKeeper();
  const folder = join(keeper.home, 'node_modules/server');
  mkdirSync(folder, { recursive: true });
  const app = join(folder, 'server.cjs');
  const helpers = `const { execFile } = require('child_process');
    execFile('no-such-program', () => execFile('true', () => process.send('ready')));`;
  writeFileSync(app, `${readFileSync(fixturePath('names-the-signal.js'))}; ${helpers}`);
  await keeper.spawn('one', { ...form(app), hasChannel: true, hasPreload: true });
  await keeper.event('ready', 'one');
  await keeper.retire('one');
  await keeper.says('one', 'got SIGTERM');
});
