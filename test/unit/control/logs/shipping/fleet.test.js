import { expect, test } from 'vitest';
import { createFleet } from '../../../../../daemon/control/logs/shipping/fleet.js';
import { createFakeClock } from '../../../../helpers/fake-clock.js';

const place = (instanceId, ship) => ({ instanceId, id: 1, name: 'api', ship });

test('a target that nobody writes to any more is left, and the others stay as they are', async () => {
  const fleet = createFleet({ clock: createFakeClock(), journal: () => {} });
  const [a, b] = ['syslog+unix:///tmp/nobody-a', 'syslog+unix:///tmp/nobody-b'];
  fleet.take(place('i', [a, b]), 'out', Buffer.from('x\n'));
  fleet.take(place('j', [a]), 'out', Buffer.from('x\nbe'));
  const targets = () => fleet.countersOf('api').map(({ target }) => target);
  expect(targets()).toEqual([a, b]);
  fleet.retarget(place('i', [a]));
  expect(targets()).toEqual([a]);
  fleet.retarget(place('j', [b]));
  expect(targets()).toEqual([a]);
  fleet.take(place('j', [b]), 'out', Buffer.from('gun\n'));
  expect(targets()).toEqual([a, b]);
  fleet.letGo('i');
  expect(targets()).toEqual([b]);
  fleet.letGo('j');
  expect(targets()).toEqual([]);
  await fleet.close();
});
