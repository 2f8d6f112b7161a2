import { describe, expect, test } from 'vitest';
import { diffSpecs } from '../../../../lib/app-spec/diff.js';
import { showReceivers } from '../../../../lib/app-spec/notify-fields.js';
import { FIELDS, findAttribute } from '../../../../lib/app-spec/table.js';
import { readShape } from '../../../../lib/config/faults.js';

const HOOK = 'https://example.com/SECRET';
const read = (value) => findAttribute('notify').read(value, 'apps[0].notify');

test.each([
  [HOOK, [{ to: HOOK, level: 'warn', afterMs: 0, repeatMs: 0 }]],
  [
    { to: HOOK, level: 'bad', after: '1m', repeat: '1h' },
    [{ to: HOOK, level: 'bad', afterMs: 60_000, repeatMs: 3_600_000 }],
  ],
  [
    ['mail:root', { to: 'exec:page' }, 'mail:root'],
    [
      { to: 'mail:root', level: 'warn', afterMs: 0, repeatMs: 0 },
      { to: 'exec:page', level: 'warn', afterMs: 0, repeatMs: 0 },
    ],
  ],
  ['none', []],
  [['none'], []],
])('reads %j', (value, receivers) => {
  expect(read(value)).toEqual(receivers);
  expect(FIELDS.notify.accepts(receivers)).toBe(true);
});

test.each([
  ['SECRET', /^apps\[0\]\.notify is a text; accepted: "https:/],
  [['mail:root', 'SECRET'], /^apps\[0\]\.notify\[1\] is a text/],
  [{ level: 'bad' }, /^apps\[0\]\.notify\.to is nothing/],
  [{ to: HOOK, level: 'worst' }, /^apps\[0\]\.notify\.level is "worst"; accepted: bad, warn\.$/],
  [{ to: HOOK, after: 'soon' }, /^apps\[0\]\.notify\.after is "soon"/],
  [{ to: HOOK, repeat: '1s' }, /^apps\[0\]\.notify\.repeat is "1s"/],
  [{ to: HOOK, url: HOOK }, /^apps\[0\]\.notify\.url is a text; accepted: \{ to, level, after, repeat \}/],
  [Array(9).fill(HOOK), /at most 8 receivers/],
])('refuses %j without its secret', (value, message) => {
  expect(() => read(value)).toThrow(
    expect.objectContaining({ message: expect.stringMatching(message), code: 'ERR_NCLUST_USAGE' }),
  );
  expect(() => read(value)).not.toThrow(/SECRET/);
});

test('a stored value is checked', () => {
  for (const value of [null, [HOOK], [{ to: HOOK }], [{ to: 'x', level: 'bad', afterMs: 0, repeatMs: 0 }]])
    expect(FIELDS.notify.accepts(value)).toBe(false);
});

test('a change needs no new process, and shows no secret', () => {
  const { needs, changes } = diffSpecs({ notify: [] }, { notify: read(HOOK) });
  expect([...needs]).toEqual(['live']);
  expect(changes).toEqual([
    { field: 'notify', attribute: 'notify', before: [], after: [{ ...read(HOOK)[0], to: 'https://example.com/…' }] },
  ]);
  expect(showReceivers(undefined)).toBe(null);
});

describe('at the top of a file', () => {
  const notifyOf = (value) => readShape(value).apps.map(({ entry }) => entry.notify);

  test('it is the default of every app and folder', () => {
    const file = {
      notify: HOOK,
      apps: [{ script: 'a.js' }, { script: 'b.js', notify: 'none' }],
      static: [{ path: '.' }],
    };
    expect(notifyOf(file)).toEqual([HOOK, 'none']);
    expect(readShape(file)).toMatchObject({ sites: [{ entry: { notify: HOOK } }], unknown: [], warnings: [] });
  });

  test('a file that is an app has it as its own', () => {
    expect(notifyOf({ script: 'a.js', notify: HOOK })).toEqual([HOOK]);
  });
});
