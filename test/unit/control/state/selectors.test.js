import { expect, test } from 'vitest';
import { emptyDesired } from '../../../../daemon/control/state/desired.js';
import { startSpecs } from '../../../../daemon/control/state/changes.js';
import { matcher, select } from '../../../../daemon/control/state/selectors.js';
import { makeSpec } from '../make-spec.js';

const specs = [
  makeSpec({ name: 'api', instances: 2 }), // ids 0, 1
  makeSpec({ name: 'web', namespace: 'front', script: '/srv/web.js' }), // id 2
  makeSpec({ name: '1', namespace: 'numbers' }), // id 3
  makeSpec({ name: 'api-admin', namespace: '2' }), // id 4
];
const { desired } = startSpecs(emptyDesired(), specs, { isForced: false, isIdle: () => true, cpus: 1, nowMs: 0 });

test.each([
  [['all'], [0, 1, 2, 3, 4]],
  [['api'], [0, 1]],
  [['0'], [0]],
  [['1'], [3]], // A name has priority over an id.
  [['2'], [4]], // A namespace has priority over an id.
  [['front'], [2]],
  [['/srv/web.js'], [2]],
  [['/^api/'], [0, 1, 4]],
  [['/WEB/i'], [2]],
  [
    ['web', '0', 'web'],
    [0, 2],
  ],
])('the target %j selects the ids %j', (targets, ids) => {
  expect(select(desired, targets).map(({ slot }) => slot.id)).toEqual(ids);
});

test('an unknown target is refused with similar names', () => {
  expect(() => select(desired, ['api', 'wbe'])).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_APP_NOT_FOUND',
      exitStatus: 1,
      message: expect.stringContaining('"wbe"'),
      hint: 'Did you mean "web"?',
    }),
  );
  expect(() => select(emptyDesired(), ['all'])).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_APP_NOT_FOUND' }));
});

test.each([['x'], ['nosuch'], ['nosuchfront']])('%j: a short word is similar to no name', (target) => {
  const expected = target.includes('front') ? 'Did you mean "front"?' : 'nclust list';
  const only = startSpecs(emptyDesired(), [makeSpec({ name: 's', namespace: 'front' })], {
    isForced: false,
    isIdle: () => true,
    cpus: 1,
    nowMs: 0,
  }).desired;
  expect(() => select(only, [target])).toThrow(expect.objectContaining({ hint: expected }));
});

test('an invalid pattern is refused', () => {
  expect(() => select(desired, ['/(/'])).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_BAD_SELECTOR' }));
});

test('log lines are matched by the same rules, even for apps that are added later', () => {
  expect(matcher(['front'])(desired, { id: 2, name: 'web' })).toBe(true);
  expect(matcher(['front'])(desired, { id: 0, name: 'api' })).toBe(false);
  expect(matcher([])(desired, { id: 99, name: 'new' })).toBe(true);
});
