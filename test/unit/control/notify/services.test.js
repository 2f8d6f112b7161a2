import { describe, expect, test } from 'vitest';
import { makeManagerMessage } from '../../../../daemon/control/notify/message.js';
import { toBody, toMail } from '../../../../daemon/control/notify/services.js';

const EVIL = 'Error: <!channel> @everyone <@123> [x](http://evil) **b** `code` & ``` \\';

const MESSAGE = {
  v: 1,
  id: 'one',
  at: 1_700_000_000_000,
  event: 'began',
  host: 'web-1',
  home: '/home/deploy/.nclust',
  app: 'api',
  kind: 'crash-loop',
  level: 'bad',
  slots: [0],
  since: 1_699_999_990_000,
  ended: null,
  times: 2,
  repeated: 0,
  text: `api crashed 2 times, "${EVIL}"`,
  next: 'nclust logs api --err',
  evidence: { line: EVIL },
  errorLines: ['    at main (api.js:1)', '    at end (api.js:2)'],
  link: 'http://127.0.0.1:9616/',
};

/** Half of a surrogate pair. */
const LONE = /\p{Surrogate}/u;

const bodyOf = (service, more = {}) => JSON.parse(toBody(service, { ...MESSAGE, ...more }));

test('a JSON receiver gets the message itself', () => {
  expect(bodyOf('json')).toEqual(MESSAGE);
});

describe('slack', () => {
  test('title, words, error lines, next command and link', () => {
    expect(bodyOf('slack', { text: 'api is slow' })).toEqual({
      text: [
        '*bad: api on host web-1*',
        'api is slow',
        '```    at main (api.js:1)\n    at end (api.js:2)```',
        '`nclust logs api --err`',
        '<http://127.0.0.1:9616/|dashboard>',
      ].join('\n'),
      unfurl_links: false,
      unfurl_media: false,
    });
  });

  test('a text of an app cannot call a channel or make a link', () => {
    const { text } = bodyOf('slack', { app: '<!here>', errorLines: [`${EVIL} more`], next: '`<!here>`', link: null });
    expect(text).toContain('&lt;!channel&gt; @everyone &lt;@123&gt;');
    expect(text).not.toMatch(/<|>/);
    expect(text.match(/```/g)).toHaveLength(3);
  });
});

describe('discord', () => {
  test('a text of an app cannot call anyone, whatever it has', () => {
    const body = bodyOf('discord', { errorLines: [`${EVIL} more`] });
    expect(body.allowed_mentions).toEqual({ parse: [] });
    expect(body.content).toContain('\\[x\\]\\(http://evil\\)');
    expect(body.content.match(/(?<!\\)```/g)).toHaveLength(2);
  });

  test('a content has at most 2,000 characters, and its parts are whole', () => {
    const long = '_'.repeat(3_000);
    const { content } = bodyOf('discord', {
      app: long,
      text: long,
      errorLines: ['z'.repeat(3_000)],
      next: long,
      dropped: 3,
    });
    expect(content.length).toBeLessThanOrEqual(2_000);
    expect(content).toMatch(
      /earlier messages could not be sent[^]*```\nz+…\n```\n`_+…`\n<http:\/\/127\.0\.0\.1:9616\/>$/,
    );
  });
});

test('teams gets an adaptive card whose texts are plain', () => {
  const { type, attachments } = bodyOf('teams', { text: 'api is slow' });
  expect(type).toBe('message');
  const [{ contentType, content }] = attachments;
  expect(contentType).toBe('application/vnd.microsoft.card.adaptive');
  expect(content).toMatchObject({
    type: 'AdaptiveCard',
    body: [
      { type: 'RichTextBlock', inlines: [{ text: 'bad: api on host web-1' }] },
      { inlines: [{ text: 'api is slow' }] },
      { inlines: [{ text: '    at main (api.js:1)\n    at end (api.js:2)' }] },
      { inlines: [{ text: 'nclust logs api --err' }] },
    ],
    actions: [{ type: 'Action.OpenUrl', url: 'http://127.0.0.1:9616/' }],
  });
  const long = 'x'.repeat(100_000);
  expect(toBody('teams', { ...MESSAGE, app: long, text: long, next: long, errorLines: [long] }).length).toBeLessThan(
    28_000,
  );
});

test.each([
  ['began', 'bad', 0, 'bad: api on host web-1'],
  ['began', 'warn', 2, 'warn: api on host web-1 (reminder)'],
  ['ended', 'bad', 0, 'over: api on host web-1'],
])('the title of %s, %s', (event, level, repeated, title) => {
  expect(bodyOf('slack', { event, level, repeated }).text).toContain(`*${title}*`);
});

test('titles without an app', () => {
  expect(bodyOf('slack', { event: 'manager', app: null }).text).toContain('*bad: nclust on host web-1*');
  expect(bodyOf('slack', { event: 'test', app: null, level: null }).text).toContain('*test: nclust on host web-1*');
});

test('the error line that the text quotes is not shown again in a chat', () => {
  expect(bodyOf('slack', { errorLines: [EVIL, '    at main (api.js:1)'] }).text).not.toContain('at main');
});

describe('mail', () => {
  const headerOf = (mail) => mail.slice(0, mail.indexOf('\n\n')).split('\n');

  test('header and body', () => {
    const mail = toMail(MESSAGE, 'ops@example.com');
    expect(headerOf(mail)).toEqual([
      'To: ops@example.com',
      'Subject: bad: api on host web-1',
      'Date: Tue, 14 Nov 2023 22:13:20 +0000',
      'X-Nclust-Id: one',
      'Auto-Submitted: auto-generated',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
    ]);
    expect(mail).toContain('\n        at main (api.js:1)\n');
    expect(mail).toContain('\nNext: nclust logs api --err\n');
  });

  test.each(['a\nBcc: x@example.com', 'a\r\nBcc: x@example.com', 'é\nBcc: x', '\u2028Bcc: x'])(
    'the name %j of an app adds no header',
    (app) => {
      const lines = headerOf(toMail({ ...MESSAGE, app }, 'ops@example.com'));
      expect(lines).toHaveLength(8);
      expect(lines.filter((line) => /^bcc/i.test(line))).toEqual([]);
      const [, encoded] = /^Subject: =\?UTF-8\?B\?(.*)\?=$/.exec(lines[1]) ?? [];
      expect(Buffer.from(encoded ?? '', 'base64').toString()).not.toContain('\n');
    },
  );

  test('a line has at most 998 bytes', () => {
    const mail = toMail({ ...MESSAGE, text: 'é'.repeat(2_000), errorLines: ['€'.repeat(500)] }, 'ops@example.com');
    for (const line of mail.split('\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(998);
  });
});

test.each([299, 300, 1_399, 1_400])('a text that is cut after %i characters has no half of an emoji', (before) => {
  const text = `${'x'.repeat(before)}${'🔥'.repeat(2_000)}`;
  const own = { app: text, text, next: text, errorLines: [text] };
  for (const service of ['slack', 'discord', 'teams'])
    expect(toBody(service, { ...MESSAGE, ...own })).not.toMatch(/\\ud/);
  expect(toMail({ ...MESSAGE, ...own }, 'ops@example.com')).not.toMatch(LONE);
});

test.each(['', 'x'])('the text of a message has no half of an emoji, after %j', (before) => {
  const { text } = makeManagerMessage({ atMs: 1, text: `${before}${'🔥'.repeat(2_000)}`, times: 1 }, MESSAGE);
  expect(text).toMatch(/🔥…$/u);
  expect(text).not.toMatch(LONE);
});
