import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { ask } from '../helpers/connections.js';
import { fixturePath } from '../helpers/fixtures.js';
import { realKeeper } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';
import { nodeUnderTest } from '../helpers/sandbox.js';

// With the permission model of Node.js, a program can read only the files that its options allow.
// These options do not name the files of the agent.

const help = execFileSync(nodeUnderTest(), ['--help'], { encoding: 'utf8' });
const OFFLINE = [
  help.includes(' --permission') ? '--permission' : '--experimental-permission',
  `--allow-fs-read=${dirname(fixturePath('runs-code'))}/*`,
];
const RESTRICTED = [...OFFLINE, ...(help.includes('--allow-net') ? ['--allow-net'] : [])];

const CODE = `
  say('reads', process.permission.has('fs.read', '/etc/hostname'), 'has', JSON.stringify(process.execArgv));
  http.createServer(answer).listen(Number(process.env.PORT), '127.0.0.1', () => say('listens'));
`;

test.each([
  { mode: 'fork', by: 'an argument', execArgv: RESTRICTED, env: {} },
  { mode: 'cluster', by: 'an argument', execArgv: RESTRICTED, env: {} },
  { mode: 'fork', by: 'NODE_OPTIONS', execArgv: [], env: { NODE_OPTIONS: RESTRICTED.join(' ') } },
  { mode: 'cluster', by: 'NODE_OPTIONS', execArgv: [], env: { NODE_OPTIONS: RESTRICTED.join(' ') } },
])(
  '$mode: an app under the permission model (by $by) serves, and does not see the agent',
  async ({ mode, execArgv, env }) => {
    const keeper = await realKeeper();
    const port = await takePort();
    const { pid } = await keeper.spawnNode('one', 'runs-code', {
      mode,
      execArgv,
      env: { ...env, CODE, PORT: String(port) },
    });
    await keeper.says('one', 'listens');
    await keeper.event('listening', 'one');
    expect(keeper.output('one')).toContain(`reads false has ${JSON.stringify(execArgv)}`);
    expect(await ask({ port })).toMatchObject({ pid });
    await keeper.retire('one');
    await keeper.event('gone', 'one');
    expect((await keeper.event('exited', 'one')).data).toMatchObject({ signal: 'SIGINT' });
  },
);

const TRIES = `
  const server = http.createServer(answer);
  server.on('listening', () => { say('listens'); server.close(); });
  try { server.listen(0); } catch (error) { say('threw', error.code); }
`;

test.each(['fork', 'cluster'])('%s: listen() without the network permission behaves as in Node.js', async (mode) => {
  const bare = execFileSync(nodeUnderTest(), [...OFFLINE, fixturePath('runs-code')], {
    env: { CODE: TRIES },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(bare).toMatch(help.includes('--allow-net') ? 'threw ERR_ACCESS_DENIED' : 'listens');
  const keeper = await realKeeper();
  await keeper.spawnNode('one', 'runs-code', { mode, execArgv: OFFLINE, env: { CODE: TRIES } });
  await keeper.says('one', bare);
});
