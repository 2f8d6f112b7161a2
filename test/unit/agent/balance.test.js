import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Balance } from '../../../daemon/agent/balance.cjs';

// test/integration/balance.test.js tests the same with real processes.

const CLAIM = { address: null, port: 3000, family: 4, flags: 0, index: 0 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function createRig(scheduling = 'least-connections') {
  const listeners = new Map();
  let isOpen = true;
  const rig = {
    /** @type {any[]} */
    said: [],
    /** @type {any[]} */
    accepted: [],
    servers: { open: 0 },
    hear: (message, handle = undefined) => listeners.get(message.act)?.(message, handle),
    /** @returns {any[]} */
    connect: (count = 1) =>
      Array.from({ length: count }, () => {
        const client = {
          isClosed: false,
          close: () => {
            client.isClosed = true;
          },
        };
        server.onconnection(0, client);
        return client;
      }),
    fail: (status) => server.onconnection(status),
    end: (count) => {
      rig.servers.open -= count;
    },
    disconnect: () => {
      isOpen = false;
    },
    isListening: true,
    balance: null,
  };
  const channel = {
    on: (act, listener) => void listeners.set(act, listener),
    say: (message, handle, onSent) => void rig.said.push({ ...message, handle, onSent }),
    isOpen: () => isOpen,
  };
  const server = {
    onconnection(status, client) {
      rig.accepted.push(client ?? status);
      if (client) rig.servers.open += 1;
    },
  };
  rig.balance = new Balance(
    channel,
    { servers: rig.servers, findHandle: () => (rig.isListening ? server : null) },
    scheduling,
    () => performance.now(),
  );
  rig.balance.wrap(server, CLAIM);
  return rig;
}

describe('share', () => {
  test('a worker keeps two connections until the keeper answers, because there may be other workers', () => {
    const rig = createRig();
    const [, , third] = rig.connect(3);
    expect(rig.accepted).toHaveLength(2);
    expect(rig.said).toMatchObject([{ act: 'overflow', seq: 1, claim: CLAIM, open: 2, handle: third }]);
  });

  test('a worker without others keeps every connection', () => {
    const rig = createRig();
    rig.hear({ act: 'share', share: null });
    rig.connect(1_000);
    expect([rig.accepted.length, rig.said]).toEqual([1_000, []]);
  });

  test.each([
    [0, 2],
    [5, 7],
    [10, 12],
    [16, 19],
    [100, 120],
  ])('a worker with a share of %i keeps %i: a fifth more, at least two', (share, kept) => {
    const rig = createRig();
    rig.servers.open = share;
    rig.hear({ act: 'share', share });
    rig.connect(kept - share + 3);
    expect([rig.servers.open, rig.said.length]).toEqual([kept, 3]);
  });

  test('a worker whose connections have closed has a smaller share until the keeper knows better', () => {
    const rig = createRig();
    rig.servers.open = 10;
    rig.hear({ act: 'share', share: 100 });
    rig.connect(4);
    expect([rig.servers.open, rig.said.length]).toEqual([12, 2]);
    rig.hear({ act: 'share', share: 12 });
    rig.connect(4);
    expect([rig.servers.open, rig.said.length]).toEqual([14, 4]);
  });

  test('an error of accept(2) reaches the app unchanged', () => {
    const rig = createRig('sticky');
    rig.fail(-24);
    expect([rig.accepted, rig.said]).toEqual([[-24], []]);
  });
});

describe('churn', () => {
  const churn = (rig, count, everyMs) => {
    for (let nth = 0; nth < count; nth += 1) {
      const before = rig.accepted.length;
      rig.connect(1);
      if (rig.accepted.length > before) rig.end(1);
      vi.advanceTimersByTime(everyMs);
    }
  };

  test('a worker that closes many connections may keep more: half of those closed in the last 100 ms', () => {
    const rig = createRig();
    rig.hear({ act: 'share', share: 0 });
    churn(rig, 60, 5);
    rig.connect(30);
    expect([rig.servers.open, rig.said.length]).toEqual([10, 20]);
  });

  test('a worker may keep at most 32 more', () => {
    const rig = createRig();
    rig.hear({ act: 'share', share: 0 });
    churn(rig, 1_000, 0.5);
    rig.connect(100);
    expect(rig.servers.open).toBe(32);
  });

  test('a connection that was passed on does not count as closed', () => {
    const rig = createRig();
    rig.hear({ act: 'share', share: 0 });
    for (let nth = 0; nth < 60; nth += 1) {
      rig.connect();
      vi.advanceTimersByTime(5);
    }
    expect(rig.servers.open).toBe(2);
  });

  test('connections closed more than 100 ms ago do not count', () => {
    const rig = createRig();
    rig.hear({ act: 'share', share: 0 });
    churn(rig, 60, 5);
    vi.advanceTimersByTime(1_000);
    rig.connect(30);
    expect(rig.servers.open).toBe(2);
  });
});

describe('passing on', () => {
  test('a worker closes its copy of a placed connection, and the app never sees it', () => {
    const rig = createRig('sticky');
    const [client] = rig.connect();
    expect(rig.balance.isPassing).toBe(true);
    rig.hear({ act: 'placed', seq: rig.said[0].seq });
    expect([client.isClosed, rig.accepted, rig.balance.isPassing]).toEqual([true, [], false]);
  });

  test.each([
    ['cannot be sent', (rig) => rig.said[0].onSent(new Error('closed'))],
    ['was not placed when the keeper died', (rig) => rig.balance.lost()],
  ])('a worker keeps a connection that %s, once', (_what, happen) => {
    const rig = createRig('sticky');
    const [client] = rig.connect();
    rig.said[0].onSent(null);
    expect(rig.accepted).toEqual([]);
    happen(rig);
    rig.balance.lost();
    rig.hear({ act: 'placed', seq: rig.said[0].seq });
    expect([rig.accepted, client.isClosed, rig.balance.isPassing]).toEqual([[client], false, false]);
  });

  test('a worker without a keeper keeps every connection', () => {
    const rig = createRig('sticky');
    rig.disconnect();
    rig.connect(5);
    expect([rig.accepted.length, rig.said]).toEqual([5, []]);
  });

  test('sticky: the keeper decides about each connection, unless there is only one worker', () => {
    const rig = createRig('sticky');
    rig.connect(2);
    expect([rig.said.length, rig.accepted]).toEqual([2, []]);
    rig.hear({ act: 'share', share: null });
    rig.connect(2);
    expect([rig.said.length, rig.accepted.length]).toEqual([2, 2]);
  });
});

describe('receiving', () => {
  test('a worker accepts a connection that it is given, however many it has', async () => {
    const rig = createRig();
    rig.connect(2);
    const client = { close: () => {} };
    rig.hear({ act: 'connection', seq: 7, claim: CLAIM }, client);
    await new Promise((resolve) => process.nextTick(resolve));
    expect([rig.accepted.at(-1), rig.said]).toMatchObject([client, [{ act: 'connection-accepted', seq: 7 }]]);
  });

  test('a worker that no longer listens declines the connection, and closes its copy', () => {
    const rig = createRig();
    rig.isListening = false;
    let isClosed = false;
    rig.hear(
      { act: 'connection', seq: 7, claim: CLAIM },
      {
        close: () => {
          isClosed = true;
        },
      },
    );
    expect([isClosed, rig.accepted, rig.said]).toMatchObject([true, [], [{ act: 'connection-declined', seq: 7 }]]);
  });
});
