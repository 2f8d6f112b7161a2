import { expect, test } from 'vitest';
import { createLosses } from '../../../../../daemon/control/logs/write/log-file.js';

test('earlier losses are not counted with present ones', () => {
  let nowMs = 1_700_000_000_000;
  const losses = createLosses(() => nowMs);
  losses.add(Buffer.from('one\ntwo\n'), 'ENOSPC');
  nowMs += 3_600_000;
  losses.add(Buffer.from('three\n'), 'ENOSPC');
  expect(losses.recent()).toMatchObject({ lines: 3, bytes: 14 });
  nowMs += 3_600_001;
  expect(losses.recent()).toBe(null);
  losses.add(Buffer.from('four\n'), 'EROFS');
  expect(losses.recent()).toMatchObject({ lines: 1, bytes: 5, reason: 'EROFS' });
});

test('the first loss is reported, and again after an hour without one', () => {
  let nowMs = 1_700_000_000_000;
  const reported = [];
  const losses = createLosses(
    () => nowMs,
    (reason) => void reported.push(reason),
  );
  losses.add(Buffer.from('one\n'), 'ENOSPC');
  losses.add(Buffer.from('two\n'), 'EIO');
  expect(reported).toEqual(['ENOSPC']);
  nowMs += 3_600_001;
  losses.add(Buffer.from('three\n'), 'EROFS');
  expect(reported).toEqual(['ENOSPC', 'EROFS']);
});
