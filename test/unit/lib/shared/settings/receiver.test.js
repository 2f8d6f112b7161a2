import { describe, expect, test } from 'vitest';
import { findNotifyRule, readNotifySettings } from '../../../../../lib/shared/settings/notify-keys.js';
import { parseReceiver, recognizeService, shortReceiver } from '../../../../../lib/shared/settings/receiver.js';
import { checkSetting, describeSettings, readSettings, showSetting } from '../../../../../lib/shared/settings/rules.js';

describe('parseReceiver', () => {
  test.each([
    ['https://example.com/hook', { kind: 'web', service: null, url: 'https://example.com/hook' }],
    ['http://127.0.0.1:80', { kind: 'web', service: null, url: 'http://127.0.0.1:80' }],
    ['slack:https://a.b/c', { kind: 'web', service: 'slack', url: 'https://a.b/c' }],
    ['teams:file:/etc/teams', { kind: 'file', service: 'teams', path: '/etc/teams' }],
    ['file:/etc/hook', { kind: 'file', service: null, path: '/etc/hook' }],
    ['exec:page "$(cat)"', { kind: 'exec', command: 'page "$(cat)"' }],
    ['mail:ops@example.com', { kind: 'mail', address: 'ops@example.com' }],
    ['mail:root', { kind: 'mail', address: 'root' }],
  ])('parseReceiver reads %j', (text, receiver) => {
    expect(parseReceiver(text)).toEqual(receiver);
  });

  test.each([
    ...['', 'none', 'ops', 'ftp://a.b', 'https:', 'https://', 'https://a b', 'slack:', 'slack:ops', 'slack:env:X'],
    ...['exec:', 'exec:  ', 'file:etc', 'file:', 'mail:', 'mail:-oQ/tmp', 'mail:a@b c', 'mail:a@b\nBcc: c@d'],
    ...['mail:a@b,c@d', 'mail:<a@b>', 'mail:a@-b', 'https://a.b/\nx', `exec:${'x'.repeat(5_000)}`, 'exec:a\0b'],
  ])('parseReceiver refuses %j', (text) => {
    expect(parseReceiver(text)).toBe(null);
  });
});

test.each([
  ['https://hooks.slack.com/services/T/B/x', 'slack'],
  ['https://discord.com/api/webhooks/1/x', 'discord'],
  ['https://ptb.discord.com/api/webhooks/1/x', 'discord'],
  ['https://discord.com/other', 'json'],
  ['https://acme.webhook.office.com/webhookb2/x', 'teams'],
  ['https://prod-1.westeurope.logic.azure.com:443/workflows/x', 'teams'],
  ['https://hooks.slack.com.evil.example/x', 'json'],
])('recognizes the service of %s', (url, service) => {
  expect(recognizeService(url)).toBe(service);
});

test.each([
  ['https://hooks.slack.com/services/SECRET', 'slack https://hooks.slack.com/…'],
  ['https://user:SECRET@example.com:8443/SECRET?key=SECRET', 'https://example.com:8443/…'],
  ['teams:https://example.com/SECRET', 'teams https://example.com/…'],
  ['slack:file:/etc/nclust/slack', 'slack file:/etc/nclust/slack'],
  ['exec:curl -H SECRET https://x', 'exec curl …'],
  ['exec:KEY=SECRET page', 'exec …'],
  ['mail:ops@example.com', 'mail ops@example.com'],
  ['SECRET', '…'],
])('shows %s without its secret parts', (text, short) => {
  expect(shortReceiver(text)).toBe(short);
});

describe('settings', () => {
  const SECRET = 'https://example.com/SECRET';

  test('keys of receivers', () => {
    for (const key of ['notify.ops', 'notify.a-1.level', 'notify.ops.apps', 'notify.ops.after', 'notify.ops.repeat'])
      expect(findNotifyRule(key), key).not.toBe(null);
    for (const key of ['notify', 'notify.', 'notify.Ops', 'notify.ops.when', 'notify.a.b.level', 'xnotify.ops'])
      expect(findNotifyRule(key), key).toBe(null);
  });

  test.each([
    ['notify.ops', 'SECRET', /^"notify\.ops" cannot be this text; accepted: "https:/],
    ['notify.ops.level', 'worst', /cannot be "worst"; accepted: bad, or warn/],
    ['notify.ops.repeat', '5s', /cannot be "5s"; accepted: 0 \(off\), or from 1m/],
    ['notify.ops.when', 'x', /^There is no setting "notify\.ops\.when"\.$/],
    ['notif.ops', 'x', /^There is no setting "notif\.ops"\.$/],
  ])('set refuses %s %s', (key, text, message) => {
    expect(() => checkSetting(key, text)).toThrow(expect.objectContaining({ message: expect.stringMatching(message) }));
  });

  test('an unknown key leads to the keys of receivers', () => {
    expect(() => checkSetting('notify', 'x')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('"notify.<name>"') }),
    );
  });

  test('the list shows receivers without their secrets', () => {
    const shown = describeSettings({ 'notify.ops': SECRET, 'notify.ops.after': '1m', 'notify.bad': 'SECRET' });
    expect(shown.filter(({ key }) => key.startsWith('notify.'))).toEqual([
      { key: 'notify.ops', value: 'https://example.com/…', isSet: true, help: 'a receiver of troubles' },
      { key: 'notify.ops.after', value: '1m', isSet: true, help: expect.any(String) },
    ]);
    expect(showSetting('notify.ops', SECRET)).toBe('https://example.com/…');
  });

  test('a problem of the file does not quote a receiver', () => {
    const { problems } = readSettings('{"notify.ops":"SECRET"}');
    expect(problems).toEqual([expect.stringMatching(/^"notify\.ops" cannot be this value here/)]);
  });

  test('options belong to the receiver of their name', () => {
    expect(
      readNotifySettings({
        'notify.ops': SECRET,
        'notify.ops.level': 'bad',
        'notify.ops.apps': 'api, web-*',
        'notify.ops.after': '30s',
        'notify.ops.repeat': '1h',
        'notify.chat': 'mail:root',
        'notify.chat.level': 'what',
        'notify.lone.level': 'bad',
        'notify.wrong': 'x',
        'logs.max_size': '1M',
      }),
    ).toEqual([
      { name: 'ops', to: SECRET, level: 'bad', apps: ['api', 'web-*'], afterMs: 30_000, repeatMs: 3_600_000 },
      { name: 'chat', to: 'mail:root', level: 'warn', apps: [], afterMs: 0, repeatMs: 0 },
    ]);
  });
});
