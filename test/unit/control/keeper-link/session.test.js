import { expect, test } from 'vitest';
import { KeeperSession } from '../../../../daemon/control/keeper-link/session.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { FakeKeeper, settle } from '../../../helpers/fake-keeper.js';
import { watch } from '../control-rig.js';

function open() {
  const clock = createFakeClock();
  const first = new FakeKeeper(clock);
  const seen = [];
  const launch = { error: null, keepers: [] };
  const context = {
    link: null,
    parts: {
      clock,
      managerLog: (event) => void seen.push(event),
      async launchKeeper() {
        if (launch.error) throw launch.error;
        launch.keepers.push(new FakeKeeper(clock));
        return launch.keepers.at(-1)?.connect();
      },
    },
  };
  const session = new KeeperSession(context, {
    introduce: async () => ({ snapshot: await context.link.request('snapshot', {}), orphans: [] }),
    onMet: () => void seen.push('met'),
    onLost: () => void seen.push('lost'),
    onEvent: (event) => void seen.push(`event: ${event}`),
    hold: () => void seen.push('hold'),
    resume: () => void seen.push('resume'),
  });
  return { clock, first, seen, launch, session };
}

test('meet waits for a later keeper if the first one dies during the introduction', async () => {
  const { clock, first, seen, launch, session } = open();
  first.diesAt = 'snapshot';
  launch.error = new Error('out of memory');
  const meeting = watch(session.meet(first.connect()));
  await settle();
  expect([meeting.state, seen]).toEqual(['pending', ['lost', 'keeper-lost', 'keeper-launch-failed']]);

  launch.error = null;
  seen.length = 0;
  clock.advance(1_000);
  await settle();
  expect([meeting.state, seen]).toEqual(['done', ['lost', 'keeper-lost', 'met', 'keeper-met']]);
});

test('the next keeper learns that clients can connect before the session is answered', async () => {
  const { first, launch, session } = open();
  await session.meet(first.connect());
  session.announceReady();
  first.die();
  await session.waitForNext();
  await settle();
  expect(launch.keepers[0].requests.map(({ verb }) => verb)).toEqual(['snapshot', 'control-ready']);
});

test('an exchange pauses the loop before its request, and resumes it if the keeper refuses', async () => {
  const { first, seen, session } = open();
  await session.meet(first.connect());
  first.lacks.add('abdicate');
  seen.length = 0;
  await expect(session.exchange({ root: '/new', node: '/node' })).rejects.toMatchObject({ code: 'ENOSYS' });
  expect(seen).toEqual(['hold', 'resume']);
});

test('a session that is closed or has left launches no keeper', async () => {
  for (const end of ['close', 'leave']) {
    const { first, launch, session } = open();
    await session.meet(first.connect());
    Promise.resolve(session[end]()).catch(() => {}); // The keeper dies before it answers.
    first.die();
    await settle();
    expect([end, launch.keepers]).toEqual([end, []]);
  }
});
