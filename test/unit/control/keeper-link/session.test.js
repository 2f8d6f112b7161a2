import { describe, expect, test } from 'vitest';
import { KeeperSession } from '../../../../daemon/control/keeper-link/session.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { FakeKeeper, settle } from '../../../helpers/fake-keeper.js';
import { watch } from '../control-rig.js';

function open() {
  const clock = createFakeClock();
  const first = new FakeKeeper(clock);
  const seen = [];
  const launch = { error: null, isSlow: false, isMute: false, keepers: [] };
  const context = {
    link: null,
    parts: {
      clock,
      managerLog: (event) => void seen.push(event),
      async launchKeeper() {
        if (launch.error) throw launch.error;
        if (launch.isSlow) return new Promise(() => {});
        launch.keepers.push(new FakeKeeper(clock));
        if (launch.isMute) Object.assign(launch.keepers.at(-1) ?? {}, { answers: () => false });
        return launch.keepers.at(-1)?.connect();
      },
    },
  };
  const session = new KeeperSession(context, {
    compareWithKeeper: async () => ({ snapshot: await context.link.request('snapshot', {}), orphans: [] }),
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

describe('a keeper that does not answer', () => {
  const look = async (session, times) => {
    for (let time = 0; time < times; time += 1) {
      session.look();
      await settle();
    }
  };

  test('a silent keeper makes requests fail with the reason, and counts as well again when it answers', async () => {
    const { first, seen, session } = open();
    await session.meet(first.connect());
    await look(session, 20);
    expect(session.trouble).toBe(null); // No request waits.

    first.answers = () => false;
    const request = watch(session.request('snapshot', {}));
    const work = watch(session.unlessSilent(new Promise(() => {})));
    await look(session, 7);
    expect([request.state, session.trouble]).toEqual(['pending', null]);
    await look(session, 1);
    for (const one of [request, work])
      expect(one).toMatchObject({ state: 'failed', error: { code: 'ERR_NCLUST_DAEMON_UNREACHABLE' } });
    expect(seen.at(-1)).toBe('keeper-silent');
    await expect(session.unlessSilent(Promise.resolve('done'))).resolves.toBe('done');
    await expect(session.request('snapshot', {})).rejects.toThrow(/does not answer/);

    first.answers = () => true;
    await session.request('snapshot', {}).catch(() => {});
    await settle();
    await look(session, 1);
    expect([session.trouble, seen.at(-1)]).toEqual([null, 'keeper-answers']);
  });

  test('the silence of a keeper is not blamed on the next one, which has not introduced itself yet', async () => {
    const { clock, first, launch, session } = open();
    await session.meet(first.connect());
    launch.error = new Error('out of memory');
    first.die();
    await look(session, 8);
    expect(session.trouble?.message).toContain('another one cannot be started (out of memory)');
    launch.error = null;
    launch.isMute = true;
    clock.advance(1_000);
    await settle();
    const work = watch(session.insist(new Promise(() => {})));
    await look(session, 7);
    expect([work.state, session.trouble]).toEqual(['pending', null]);
    // No pid is known, so no process can be named or ended.
    await look(session, 1);
    expect(work).toMatchObject({ state: 'failed', error: { hint: expect.not.stringContaining('kill -9') } });
  });

  test('a silent keeper is asked first, because one request may take long', async () => {
    const { first, session } = open();
    await session.meet(first.connect());
    first.answers = (verb) => verb !== 'profile';
    const request = watch(session.request('profile', {}));
    await look(session, 30);
    expect([request.state, session.trouble]).toEqual(['pending', null]);
  });

  test('a keeper is reported as missing if the next one cannot be started', async () => {
    const { clock, first, launch, session } = open();
    await session.meet(first.connect());
    launch.error = new Error('spawn /gone/node ENOENT');
    first.die();
    await look(session, 8);
    expect(session.trouble?.message).toContain('cannot be started (spawn /gone/node ENOENT)');
    launch.error = null;
    clock.advance(1_000);
    await settle();
    expect(session.trouble).toBe(null);

    // An earlier failure is not the reason why the next launch takes long.
    launch.isSlow = true;
    launch.keepers[0].die();
    await look(session, 8);
    expect(session.trouble?.message).toMatch(/^The keeper has exited, and another one has not started yet, so/);
  });
});
