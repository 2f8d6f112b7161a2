import { expect, test } from 'vitest';
import { canUseChannel, hasChannel, mayStartNode, warnAboutChannel } from '../../../../lib/app-spec/channel.js';

const program = (file, script = file, execArgs = []) => ({ kind: 'exec', file, script, execArgs });
const shell = (command) => program('/bin/bash', command, ['-c', command]);
const node = (script) => ({ kind: 'node', file: '/usr/bin/node', script, execArgs: [] });

test.each([
  ['a Node.js script', node('/app/app.js'), true, false],
  ['node as the program', program('/usr/bin/node'), true, true],
  ['tsx as the interpreter', program('/app/node_modules/.bin/tsx', '/app/app.ts'), true, true],
  ['bun', program('/root/.bun/bin/bun', '/app/app.ts'), true, false],
  ['a shell command', shell('NODE_ENV=production node app.js'), true, true],
  ['the last program of a shell command', shell('npm ci && exec node app.js'), true, true],
  ['sh -c', program('/bin/sh', '/bin/sh', ['-c', 'node app.js']), true, true],
  ['a shell script', program('/bin/bash', '/app/start.sh', ['/app/start.sh']), true, false],
  [
    'a program that starts another one',
    program('/usr/bin/timeout', '/usr/bin/timeout', ['9', 'node', 'app.js']),
    true,
    true,
  ],
  ['sudo', shell('sudo -u www npm start'), false, false],
  ['a redirection', shell('npm start > log 2>&1'), false, true],
  ['output to both', shell('npm start &> log'), false, true],
  ['a pipeline', shell('npm start | pino-pretty'), false, true],
  ['a pipeline of node', shell('node app.js 2>&1 | npx pino-pretty'), true, true],
  ['a shell in a shell', shell('bash -lc "npm ci && exec npm start"'), false, true],
  ['timeout in a shell', shell('timeout -s INT 5m npm start'), false, true],
  ['nice', program('/usr/bin/nice', 'nice', ['-n', '10', 'npm', 'start']), false, true],
  ['a separator in quotes', shell('npm start -- "a; b | c"'), false, true],
  ['in the background', shell('npm start &'), false, true],
  ['a script in a shell', shell('./start.sh x'), true, false],
  ['a version', program('/usr/bin/node-18', '/usr/bin/node-18'), true, true],
  ['a release of yarn', node('/app/.yarn/releases/yarn-3.6.4.cjs'), false, false],
  ['bunx', shell('bunx serve'), false, true],
  ['npm', node('/usr/bin/npm'), false, false],
  ['npm-cli.js', node('/usr/lib/node_modules/npm/bin/npm-cli.js'), false, false],
  ['pnpm in a shell', shell('cd web && pnpm run start "$@"'), false, true],
  ['Python', program('/usr/bin/python3.12', '/app/app.py', ['/app/app.py']), false, false],
  ['Python in a shell', shell('python3 app.py'), false, false],
  ['php', program('/usr/bin/php8.2', '/app/artisan'), false, false],
])('%s', (_, spec, canUse, mayNode) => {
  expect(canUseChannel(spec)).toBe(canUse);
  expect(mayStartNode(spec)).toBe(mayNode);
});

test('only a program of another language gets no channel', () => {
  expect([node('/usr/bin/npm'), shell('python3 app.py'), program('/srv/api')].every(hasChannel)).toBe(true);
  expect(hasChannel(program('/usr/bin/python3', '/app/app.py'))).toBe(false);
});

test('shutdown_with_message is warned about where the message cannot arrive', () => {
  const warnings = (spec) => warnAboutChannel({ name: 'api', shutdownWithMessage: true, ...spec });
  expect(warnings(node('/usr/bin/npm'))).toEqual([expect.stringContaining('"npm" passes no messages on')]);
  expect(warnings(shell('cd /app && npm run start:prod'))).toEqual([expect.stringContaining('"npm" passes no')]);
  expect(warnings(node('/app/app.js'))).toEqual([]);
  expect(warnAboutChannel({ ...node('/usr/bin/npm'), shutdownWithMessage: false })).toEqual([]);
});

test('sticky scheduling is warned about where the workers cannot pass connections on', () => {
  const own = process.geteuid();
  const warnings = (o) =>
    warnAboutChannel({ ...node('/app/app.js'), name: 'api', mode: 'cluster', uid: own + 1, ...o });
  expect(warnings({ scheduling: 'sticky' })).toEqual([expect.stringContaining('"api" has scheduling sticky')]);
  expect(warnings({ scheduling: 'least-connections' })).toEqual([]);
  expect(warnings({ scheduling: 'sticky', mode: 'fork' })).toEqual([]);
  for (const uid of [null, own]) expect(warnings({ scheduling: 'sticky', uid })).toEqual([]);
});
