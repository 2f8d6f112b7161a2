import { expect, test } from 'vitest';
import { canUseChannel, hasChannel, mayStartNode, warnAboutChannel } from '../../../../../lib/shared/spec/channel.js';

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
  ['an unknown program', program('/usr/bin/timeout', '/usr/bin/timeout', ['9', 'node', 'app.js']), true, false],
  ['npm', node('/usr/bin/npm'), false, false],
  ['npm-cli.js', node('/usr/lib/node_modules/npm/bin/npm-cli.js'), false, false],
  ['pnpm in a shell', shell('cd web && pnpm run start "$@"'), false, true],
  ['Python', program('/usr/bin/python3.12', '/app/app.py', ['/app/app.py']), false, false],
  ['Python in a shell', shell('python3 app.py'), false, true],
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
  expect(warnings(node('/app/app.js'))).toEqual([]);
  expect(warnAboutChannel({ ...node('/usr/bin/npm'), shutdownWithMessage: false })).toEqual([]);
});
