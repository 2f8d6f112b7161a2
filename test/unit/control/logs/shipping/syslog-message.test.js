import { expect, test } from 'vitest';
import { createSyslogMessage } from '../../../../../daemon/control/logs/shipping/syslog-message.js';

const line = {
  line: 'hällo\tworld',
  stream: 'out',
  atMs: Date.UTC(2026, 10, 21, 14, 3, 9, 45),
  id: 7,
};

test('a line becomes a message of RFC 5424', () => {
  const message = createSyslogMessage({ facility: 1, hostname: 'web-1.example.com', name: 'api' });
  expect(message(line)).toBe('<14>1 2026-11-21T14:03:09.045Z web-1.example.com api 7 stdout - hällo\tworld');
  expect(message({ ...line, stream: 'err', line: '', atMs: 0, id: 8 })).toBe(
    '<11>1 1970-01-01T00:00:00.000Z web-1.example.com api 8 stderr - ',
  );
});

test.each([
  ['local7', 23, '<190>'],
  ['kern', 0, '<6>'],
])('the facility %s is part of the priority', (_, facility, priority) => {
  expect(createSyslogMessage({ facility, hostname: 'h', name: 'n' })(line)).toMatch(new RegExp(`^${priority}1 `));
});

test.each([
  ['my app', 'my_app'],
  ['söhne\n', 's_hne_'],
  ['x'.repeat(60), 'x'.repeat(48)],
  ['', '-'],
])('the app %j has the name %j in the header', (name, called) => {
  expect(createSyslogMessage({ facility: 1, hostname: 'h', name })(line).split(' ')[3]).toBe(called);
});
