import { describe, expect, test } from 'vitest';
import { readGrep, readLogOptions } from '../../../../../lib/config/options/log-query.js';

const NOW = Date.UTC(2026, 10, 21, 12);

test.each([
  [{}, { follow: true }],
  [{ follow: true }, { follow: true }],
  [{ nostream: true }, { follow: false }],
  [{ until: '5m' }, { follow: false, until: NOW - 300_000 }],
  [{ lines: '0' }, { follow: true, lines: 0 }],
  [{ lines: '100000' }, { follow: true, lines: 100_000 }],
  [{ out: true }, { follow: true, streams: ['out'] }],
  [{ err: true }, { follow: true, streams: ['err'] }],
  [{ out: true, err: true }, { follow: true }],
  [
    { since: '1h', level: 'Error' },
    { follow: true, since: NOW - 3_600_000, level: 'error' },
  ],
  [{ since: '40000d' }, { follow: true, since: 0 }],
  [{ json: true, raw: true, format: true, timestamp: true, highlight: 'x' }, { follow: true }],
])('logs with %j asks for %j', (options, query) => {
  expect(readLogOptions(options, NOW)).toEqual(query);
});

test.each([
  [{ lines: 'x' }, /--lines is "x"; accepted/],
  [{ lines: '-1' }, /--lines is "-1"/],
  [{ lines: '100001' }, /from 0 to 100000/],
  [{ lines: '' }, /--lines is ""/],
  [{ since: 'soon' }, /--since is "soon"; accepted: how long ago/],
  [{ until: '25:00' }, /--until is "25:00"/],
  [{ since: '2026-11-22' }, /in the future/],
  [{ since: '1h', until: '2h' }, /"1h" is later than --until "2h"/],
  [{ level: 'loud' }, /--level is "loud"; accepted: trace, debug, info, warn, error, fatal/],
  [{ grep: '' }, /--grep is ""/],
  [{ grep: '(' }, /"\(" cannot be used: it is not a regular/],
  [{ grep: '(a+)+' }, /repeats a part/],
  [{ follow: true, nostream: true }, /contradict/],
  [{ follow: true, until: '1h' }, /contradict/],
])('logs with %j is refused', (options, why) => {
  expect(() => readLogOptions(options, NOW)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_USAGE', exitStatus: 2, message: expect.stringMatching(why) }),
  );
});

describe('a pattern of --grep', () => {
  test.each([
    ['timeout', 'timeout', ''],
    ['/time.?out/i', 'time.?out', 'i'],
    ['/a/', 'a', ''],
    ['/api/users', '/api/users', ''],
    ['/', '/', ''],
    ['//', '//', ''],
    ['/a/xyz', '/a/xyz', ''],
    ['a/i', 'a/i', ''],
  ])('%s has the source %s and the flags "%s"', (text, source, flags) => {
    expect(readGrep(text)).toEqual({ source, flags });
  });
});
