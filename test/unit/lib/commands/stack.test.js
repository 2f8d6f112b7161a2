import { expect, test } from 'vitest';
import { stack } from '../../../../lib/commands/stack.js';
import { isOfApp } from '../../../../lib/profile/stack.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { slotStatus } from '../slots.js';

const slot = { id: 0, name: 'api', slot: 0, pid: 2 ** 30 };
const idle = { samples: 100, busy: 0, frames: [], resources: { PipeWrap: 1 } };
const frame = (file) => ({ name: 'f', file, line: 1, column: 1 });

/** @param {any[]} o.looks  The stacks that the worker answers with, in turn. null: no answer. */
function blocked({ looks, slots = [slotStatus({ pid: slot.pid })] }) {
  const [said, asked] = [[], []];
  const answers = {
    list: () => ({ slots }),
    stack: () => ({ slot, stack: looks.shift() }),
    openInspector: () => {
      throw new NclustError('ERR_NCLUST_NO_REPLY', 'No debugger gets in.');
    },
  };
  const request = async (method) => {
    asked.push(method);
    return answers[method]();
  };
  const context = {
    cwd: '/nowhere',
    home: '/nowhere',
    managerIfRunning: async () => ({ request }),
    onInterrupt: () => () => {},
    printMessage: (sentence) => said.push(sentence),
  };
  return { context, said, asked };
}

test('stack reports that a worker was blocked if it answers after the debugger failed', async () => {
  const { context, said, asked } = blocked({ looks: [null, idle] });
  expect(await stack(context, ['api'], {})).toEqual({
    slot,
    isHeldUp: false,
    wasHeldUp: true,
    busy: 0,
    durationMs: 200,
    frames: [],
    resources: { PipeWrap: 1 },
  });
  expect(said).toEqual([expect.stringMatching(/^"api" \(id 0\) does not answer, .* nclust attaches a debugger,/)]);
  expect(asked).toEqual(['list', 'stack', 'openInspector', 'stack']);
});

test('stack sends no third request to a blocked worker', async () => {
  const { context, asked } = blocked({ looks: [null, null] });
  await expect(stack(context, ['api'], {})).rejects.toMatchObject({ code: 'ERR_NCLUST_NO_REPLY' });
  expect(asked.filter((method) => method === 'stack')).toHaveLength(2);
});

test('stack with --json prints no messages', async () => {
  const { context, said } = blocked({ looks: [null, idle] });
  await stack(context, ['api'], { json: true });
  expect(said).toEqual([]);
});

test.each([
  ['mailer', [slotStatus({ name: 'mailer', pid: 0, status: 'errored' })], 'it is errored.', 'nclust why mailer'],
  [
    '2',
    [slotStatus({ id: 2, name: 'solo', pid: 0, status: 'waiting restart' })],
    'it is waiting for a restart.',
    'nclust why solo',
  ],
  [
    'web',
    [0, 1].map((id) => slotStatus({ id, name: 'web', pid: 0, status: 'stopped' })),
    'they are stopped.',
    'nclust why web',
  ],
  [
    'all',
    [slotStatus({ name: 'a', pid: 0, status: 'stopped' }), slotStatus({ id: 1, name: 'b', pid: 0, status: 'errored' })],
    'they are stopped and errored.',
    'nclust list',
  ],
])('stack names the status if no process of "%s" runs', async (word, slots, what, hint) => {
  const { context } = blocked({ looks: [], slots });
  await expect(stack(context, [word], {})).rejects.toMatchObject({
    code: 'ERR_NCLUST_NO_PROCESS',
    message: `No process of "${word}" runs: ${what}`,
    hint,
  });
});

test.each([
  ['node:internal/timers', false],
  ['/usr/lib/node_modules/nclust/daemon/agent/later.cjs', false],
  ['/srv/app/daemon.js', true],
  ['', true],
])('a frame in "%s" is of the app: %s', (file, expected) => {
  expect(isOfApp(frame(file))).toBe(expected);
});
