import { expect, test } from 'vitest';
import { shortArgument, shortNotice, shortScript, shortTarget } from '../../../../lib/shared/without-secrets.js';

test.each([
  ['--token=hunter2', '--token=…'],
  ['--token=', '--token=…'],
  ['--verbose', '--verbose'],
  ['-v', '-v'],
  ['-phunter2', '…'],
  ['-v=hunter2', '…'],
  ['hunter2', '…'],
  ['--', '…'],
  ['', '…'],
])('the argument %j is shown as %j', (argument, shown) => {
  expect(shortArgument(argument)).toBe(shown);
});

test.each([
  ['sleep 1000', 'sleep …'],
  [' curl -H hunter2 ', 'curl …'],
  ['/usr/bin/curl -H hunter2', '/usr/bin/curl …'],
  ['TOKEN=hunter2 npm start', '…'],
  ['node', 'node'],
])('the shell command %j is shown as %j', (command, shown) => {
  expect(shortScript(command, ['-c'])).toBe(shown);
});

test('a script that is a file is shown as its path', () => {
  expect(shortScript('/srv/my app.js', ['--no-warnings'])).toBe('/srv/my app.js');
});

test('a target that is a command is shown as its kind', () => {
  expect(shortTarget('exec:send --token hunter2')).toBe('exec');
  expect(shortTarget('syslog+udp://10.0.0.1:514')).toBe('syslog+udp://10.0.0.1:514');
});

test.each([
  ['Sent to "https://me:hunter2@otlp.example:4318/hunter2?key=hunter2".', 'Sent to "https://otlp.example:4318".'],
  ['At http://[::1]:4318/hunter2 and at HTTPS://b/#hunter2', 'At http://[::1]:4318 and at HTTPS://b'],
  ['3 lines to "exec:send "hunter2"" (too slow) are lost.', '3 lines to "exec" (too slow) are lost.'],
  ['Nothing to hide.', 'Nothing to hide.'],
])('the notice %j is shown as %j', (notice, shown) => {
  expect(shortNotice(notice)).toBe(shown);
});
