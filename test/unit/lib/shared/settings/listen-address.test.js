import { expect, test } from 'vitest';
import { isLocal, parseListen, parseOtlp } from '../../../../../lib/shared/settings/listen-address.js';

test.each([
  ['none', { kind: 'none' }],
  ['127.0.0.1:9615', { kind: 'tcp', host: '127.0.0.1', port: 9615 }],
  ['localhost:1', { kind: 'tcp', host: 'localhost', port: 1 }],
  ['[::1]:9615', { kind: 'tcp', host: '::1', port: 9615 }],
  ['unix:/run/metrics.sock', { kind: 'unix', path: '/run/metrics.sock' }],
])('metrics can be served at %s', (text, target) => {
  expect(parseListen(text)).toEqual(target);
});

test.each([
  '',
  '9615',
  ':9615',
  '127.0.0.1',
  '127.0.0.1:0',
  '127.0.0.1:65536',
  '::1:9615',
  '[127.0.0.1]:1',
  'example.org:9615',
  'unix:',
  'unix:here',
  `unix:/${'x'.repeat(200)}`,
  '127.0.0.1:9615/metrics',
])('%j is refused as an address for metrics', (text) => {
  expect(parseListen(text)).toBe(null);
});

test.each([
  ['127.0.0.1:1', true],
  ['127.8.8.8:1', true],
  ['localhost:1', true],
  ['[::1]:1', true],
  ['unix:/a', true],
  ['0.0.0.0:1', false],
  ['[::]:1', false],
  ['10.0.0.1:1', false],
  ['[::ffff:10.0.0.1]:1', false],
])('whether %s is reachable only from this machine: %s', (text, expected) => {
  expect(isLocal(parseListen(text))).toBe(expected);
});

test.each([
  ['none', 'none'],
  ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/metrics'],
  ['https://collector.example/', 'https://collector.example/v1/metrics'],
  ['http://collector.example/of/ours', 'http://collector.example/of/ours'],
  ['127.0.0.1:4318', null],
  ['grpc://a:1', null],
  ['http://a/?b', null],
  ['', null],
])('with %s, metrics are sent to %s', (text, url) => {
  expect(parseOtlp(text)).toBe(url);
});
