import { expect, test } from 'vitest';
import { keepSpent, spentBySlot } from '../../../../daemon/control/metrics/lifetime-totals.js';
import { newSlotHistory } from '../../../../daemon/control/state/slot-history.js';

function registryOf(history = {}, ...instances) {
  return {
    desired: { apps: [{ slots: [{ id: 3 }] }] },
    histories: new Map([[3, { ...newSlotHistory(), ...history }]]),
    instances: new Map(instances.map((instance, at) => [String(at), { label: { id: 3 }, pid: 10 + at, ...instance }])),
  };
}

test('the usage of an instance is added to its slot once, with the figures of its agent if they are higher', () => {
  const history = newSlotHistory();
  keepSpent(history, { instanceId: 'a', cpuMs: 100 }, null);
  keepSpent(history, { instanceId: 'a', cpuMs: 100 }, null);
  expect(history.spent?.ms).toBe(100);
  keepSpent(history, { instanceId: 'b', cpuMs: 40 }, { cpuMs: 47 });
  // Control was dead while instances "c" and "d" ran, so their usage was never measured.
  keepSpent(history, { instanceId: 'c' }, { cpuMs: 3 });
  keepSpent(history, { instanceId: 'd' }, { cpuMs: 'much' });
  expect(history.spent?.ms).toBe(150);
});

test('the usage of a slot includes exited and running processes, and an unread process makes it unknown', () => {
  const spent = { from: [], ms: 1_000 };
  expect(spentBySlot(registryOf({ spent }))).toEqual(new Map([[3, 1_000]]));
  expect(spentBySlot(registryOf({ spent }, { cpuMs: 20, exit: {} }, { cpuMs: 300 }, { pid: 0 }))).toEqual(
    new Map([[3, 1_320]]),
  );
  expect(spentBySlot(registryOf({ spent }, { cpuMs: 20 }, {}))).toEqual(new Map());
});
