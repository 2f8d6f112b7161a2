import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createProcessTable, listRelatives } from '../../../daemon/keeper/host/processes.js';
import { isRoot, NOBODY } from '../../helpers/other-user.js';

const OWN = process.getuid?.() ?? 0;
const entry = (pid, ppid, instanceId = null) => ({ pid, ppid, pgid: pid, startTicks: '1', instanceId, uid: OWN });
const instance = { instanceId: 'i1.a', pid: 10, owner: null };

test('the keeper of another home, and its apps, are not relatives of the app whose command started it', () => {
  const table = [
    entry(10, 1, 'i1.a'),
    entry(11, 10, 'i1.a'), // The command for the other home. It still runs.
    entry(12, 11, 'nclust.keeper'),
    entry(13, 12), // Control of the other home.
    entry(14, 12, 'i7.b'),
    entry(15, 14, 'i7.b'),
    entry(16, 10, 'i8.b'), // An app of the other home, after its keeper has died.
  ];
  expect(listRelatives(table, instance, []).map(({ pid }) => pid)).toEqual([10, 11]);
});

test('descendants without a marker, and processes that left the tree, are relatives', () => {
  const table = [entry(10, 1, 'i1.a'), entry(11, 10), entry(12, 11), entry(13, 1, 'i1.a'), entry(14, 1)];
  expect(listRelatives(table, instance, []).map(({ pid }) => pid)).toEqual([10, 11, 12, 13]);
});

test.runIf(isRoot && process.platform === 'linux')(
  'the table shows the marker of a process only if an app may have started it',
  async () => {
    const child = spawn('sleep', ['60'], { ...NOBODY, env: { NCLUST_INSTANCE: 'i1.a' }, detached: true });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'spawn');
    const markerFor = async (ours) => {
      const table = await createProcessTable(() => ({ uids: new Set([OWN]), pids: new Set(), ...ours }))();
      return table.find(({ pid }) => pid === child.pid).instanceId;
    };
    expect(await markerFor({})).toBeNull();
    expect(await markerFor({ uids: new Set([OWN, NOBODY.uid]) })).toBe('i1.a');
    expect(await markerFor({ pids: new Set([child.pid]) })).toBe('i1.a');
    expect(await markerFor({ pids: new Set([process.pid]) })).toBe('i1.a');
  },
);
