import { expect, test } from 'vitest';
import { parseShipTarget } from '../../../../lib/app-spec/ship-target.js';

test.each([
  ['syslog+udp://127.0.0.1:514', { kind: 'udp', host: '127.0.0.1', port: 514, facility: 1 }],
  ['syslog+tcp://logs.example.com:601', { kind: 'tcp', host: 'logs.example.com', port: 601, facility: 1 }],
  ['syslog+tcp://[::1]:6514?facility=local7', { kind: 'tcp', host: '::1', port: 6514, facility: 23 }],
  ['syslog+unix:///dev/log', { kind: 'unix', path: '/dev/log', facility: 1 }],
  ['syslog+unix:///run/my app.sock?facility=daemon', { kind: 'unix', path: '/run/my app.sock', facility: 3 }],
  ['exec:tee -a "a?b" | gzip', { kind: 'exec', command: 'tee -a "a?b" | gzip' }],
])('%j is a target', (text, target) => {
  expect(parseShipTarget(text)).toEqual(target);
});

test.each([
  [''],
  ['exec:'],
  ['exec: '],
  ['syslog+exec:cat'],
  ['udp://h:1'],
  ['syslog+udp:h:1'],
  ['syslog+udp://h'],
  ['syslog+udp://h:0'],
  ['syslog+udp://h:65536'],
  ['syslog+udp://:514'],
  ['syslog+udp://u@h:514'],
  ['syslog+udp://h:514/path'],
  ['syslog+tcp://::1:514'],
  ['syslog+tcp://h:514?facility=loud'],
  ['syslog+tcp://h:514?tag=x'],
  ['syslog+unix://dev/log'],
  ['syslog+tls://h:6514'],
  ['file:///x'],
  [' exec:cat'],
])('%j is not a target', (text) => {
  expect(parseShipTarget(text)).toBeNull();
});
