import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { profile } from '../../../../lib/commands/profile.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { slotStatus } from '../slots.js';

/** @param {(() => object)[]} o.profiles  In turn. */
function contextWith({ profiles, worker = {} }) {
  const cwd = mkdtempSync(join(tmpdir(), 'nclust-profile-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const said = [];
  const answers = {
    list: () => ({ slots: [slotStatus({ pid: process.pid, ...worker })] }),
    profile: () => (profiles.shift() ?? refuse)(),
    openInspector: () => {
      throw new NclustError('ERR_NCLUST_NO_REPLY', 'No debugger gets in.');
    },
  };
  const request = async (method) => answers[method]();
  const context = {
    cwd,
    home: cwd,
    managerIfRunning: async () => ({ request }),
    onInterrupt: () => () => {},
    printMessage: (sentence) => said.push(sentence),
  };
  return { context, cwd, said };
}

function refuse() {
  throw new NclustError('ERR_NCLUST_NOT_REACHABLE', '"zz" (id 0) is not a Node.js program.');
}

const heldUp = () => ({ bytes: null });

test('a worker takes its profile itself if it answers after the debugger failed', async () => {
  const { context, said } = contextWith({ profiles: [heldUp, () => ({ bytes: 7 })] });
  expect(await profile(context, ['api'], { cpu: '300ms' })).toMatchObject({ kind: 'cpu', by: 'itself' });
  expect(said.join('\n')).toMatch(
    /for 300ms[^]*nclust attaches a debugger[^]*No debugger could[^]*once more[^]*Open it in Chrome/,
  );
});

test('profile fails after one more request to a blocked worker, and leaves no file', async () => {
  const profiles = [heldUp, heldUp, () => ({ bytes: 7 })];
  const { context, cwd } = contextWith({ profiles });
  await expect(profile(context, ['api'], { cpu: '300ms' })).rejects.toMatchObject({ code: 'ERR_NCLUST_NO_REPLY' });
  expect([profiles.length, readdirSync(cwd)]).toEqual([1, []]);
});

test('profile prints only the refusal for a program other than Node.js', async () => {
  const { context, said } = contextWith({ profiles: [refuse], worker: { nodeVersion: null } });
  await expect(profile(context, ['api'], {})).rejects.toMatchObject({ code: 'ERR_NCLUST_NOT_REACHABLE' });
  expect(said).toEqual([]);
});
