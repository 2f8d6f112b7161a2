import { expect, test } from 'vitest';
import { findCommand } from '../../../lib/command-table.js';
import { runProgram } from '../../../lib/program.js';
import { quickList } from '../../../lib/quick-list.cjs';
import { importsOf, sourceFiles } from '../../helpers/source-tree.js';
import { openServer } from './rpc-server.js';
import { slotStatus } from './slots.js';

/**
 * @param {string} home
 * @param {object} [o]
 * @param {number|null} [o.columns]  Of the terminal; null when there is none.
 */
function shell(home, { columns = null } = {}) {
  const said = { stdout: '', stderr: '' };
  const isTTY = columns !== null;
  return {
    said,
    /** @type {import('../../../lib/perform.js').Io} */
    io: {
      print: async (text) => { said.stdout += text; },
      talk: (text) => { said.stderr += text; },
      isTTY, isTalkTTY: isTTY, columns, cwd: '/', env: { PATH: '/usr/bin:/bin', NCLUST_HOME: home }, platform: 'linux', node: { file: process.execPath, version: process.version },
    },
  };
}

const slots = [
  slotStatus({ id: 2, name: 'worker', pid: 0, status: 'stopped' }), slotStatus({ id: 0, name: 'zeta' }), slotStatus({ id: 3, name: 'api', mode: 'cluster' }), slotStatus({ id: 1, name: 'api', mode: 'cluster' }),
  slotStatus({ id: 4, name: '\u540d\u524d \u001b[31m' }),
];

test.each([[null], [200], [90], [40]])('prints what the list command prints, on a terminal of %s columns', async (columns) => {
  const { home } = await openServer({ list: () => ({ slots, notices: ['The log disk is full: 12 lines were dropped.'] }) });
  const [quick, plain] = [shell(home, { columns }), shell(home, { columns })];
  expect(await quickList(quick.io)).toBe(true);
  await runProgram(['list'], plain.io);
  expect(quick.said).toEqual(plain.said);
  expect(quick.said.stdout).toMatch(/api[^]*worker[^]*zeta/);
  expect(quick.said.stderr).toContain('12 lines were dropped');
});

test('asks for no more than the table shows', async () => {
  const server = await openServer({ list: () => ({ slots, notices: [] }) });
  await quickList(shell(server.home).io);
  expect(server.callsTo('list').map(({ params }) => params)).toEqual([{ brief: true }]);
});

test.each(/** @type {[string, Record<string, (params: any, socket: any) => unknown>][]} */ ([
  ['speaks another protocol', { hello: () => ({ protocol: 9, version: '3.0.0' }) }],
  ['refuses', { list: () => { throw new Error('no'); } }],
  ['dies in the middle', { list: (_params, socket) => void socket.destroy() }],
]))('leaves a manager that %s to the list command', async (_what, handlers) => {
  const { home } = await openServer({ list: () => ({ slots, notices: [] }), ...handlers });
  const { io, said } = shell(home);
  expect(await quickList(io)).toBe(false);
  expect(said).toEqual({ stdout: '', stderr: '' });
});

test('leaves a home without a manager to the list command', async () => {
  expect(await quickList(shell('/nonexistent/home').io)).toBe(false);
});

test('the command knows every name of list', () => {
  const [bin] = sourceFiles('bin');
  const words = /LIST_WORDS = \[(.*)\]/.exec(bin.code)?.[1].match(/\w+/g) ?? [];
  const list = findCommand('list');
  expect(words).toEqual([list?.name, ...(list?.aliases ?? [])]);
});

test('what it reads before it prints is CommonJS, and little', () => {
  const files = sourceFiles('bin', 'lib');
  const read = new Set(['bin/nclust.js']);
  for (const path of read) {
    const file = files.find((one) => one.path === path);
    if (file) for (const name of importsOf(file)) if (/^lib\/.*\.cjs$/.test(name)) read.add(name);
  }
  expect([...read].sort()).toEqual(['bin/nclust.js', 'lib/quick-list.cjs', 'lib/render/paint.cjs', 'lib/render/slots.cjs', 'lib/render/table.cjs', 'lib/render/text.cjs', 'lib/shared/socket.cjs']);
});
