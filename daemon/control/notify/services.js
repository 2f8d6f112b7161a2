// The shapes of a message for each service. Texts come from apps, so each is escaped for its
// service, and nothing in it can call people (@everyone, <!channel>).
import { cutText } from '../../../lib/render/text.js';

/** @import { Service } from '../../../lib/shared/settings/receiver.js' */
/** @import { Message } from './message.js' */

/** @type {Record<Service, (message: Message) => object>} */
const SHAPES = { json: (message) => message, slack: toSlack, discord: toDiscord, teams: toTeams };

/**
 * @param {Service} service
 * @param {Message} message
 */
export function toBody(service, message) {
  return JSON.stringify(SHAPES[service](message));
}

/** @param {Message} message */
function title({ event, level, app, host, repeated }) {
  const word = event === 'ended' ? 'over' : event === 'test' ? 'test' : level;
  return `${word}: ${app ?? 'nclust'} on host ${host}${repeated > 0 ? ' (reminder)' : ''}`;
}

/**
 * @param {Message} message
 * @param {number} max
 */
function words({ text, dropped = 0 }, max) {
  return `${cutText(text, max)}${dropped > 0 ? `\n(${dropped} earlier messages could not be sent.)` : ''}`;
}

const CHAT_LINES = 3;

/**
 * The text usually quotes the error line, and then the lines around it only make a chat longer.
 * JSON and mail have all lines.
 * @param {Message} message
 */
function chatLines({ errorLines, text }) {
  return errorLines.some((line) => text.includes(line.trim())) ? [] : errorLines.slice(-CHAT_LINES);
}

/**
 * https://api.slack.com/reference/surfaces/formatting#escaping
 * @param {Message} message
 */
function toSlack(message) {
  const escape = (/** @type {string} */ text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quote = (/** @type {string} */ text, max = 1_500) => escape(cutText(text, max).replaceAll('`', "'"));
  const { next, link } = message;
  const lines = chatLines(message).join('\n');
  const parts = [
    `*${quote(title(message), 200).replaceAll('*', '')}*`,
    escape(words(message, 1_500)),
    ...(lines ? [`\`\`\`${quote(lines)}\`\`\``] : []),
    ...(next ? [`\`${quote(next, 300)}\``] : []),
    ...(link ? [`<${link}|dashboard>`] : []),
  ];
  return { text: parts.join('\n'), unfurl_links: false, unfurl_media: false };
}

/** Longer contents are refused. */
const DISCORD_MAX = 2_000;

/** @param {Message} message */
function toDiscord(message) {
  const escape = (/** @type {string} */ text) => text.replace(/[\\*_~`|>#[\]()<@]/g, '\\$&');
  const quote = (/** @type {string} */ text, max = 600) => cutText(text, max).replaceAll('`', "'");
  const { next, link } = message;
  const lines = chatLines(message).join('\n');
  const parts = [
    `**${escape(cutText(title(message), 120))}**`,
    escape(words(message, 350)),
    ...(lines ? [`\`\`\`\n${quote(lines)}\n\`\`\``] : []),
    ...(next ? [`\`${quote(next, 200)}\``] : []),
    ...(link ? [`<${link}>`] : []),
  ];
  return { content: cutText(parts.join('\n'), DISCORD_MAX), allowed_mentions: { parse: [] } };
}

/**
 * A card for the workflow "When a Teams webhook request is received". A TextRun is plain text, a
 * TextBlock would be Markdown.
 * @param {Message} message
 */
function toTeams(message) {
  const { next, link } = message;
  const lines = chatLines(message).join('\n');
  const block = (/** @type {string} */ text, more = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: cutText(text, 1_500), ...more }],
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          fallbackText: cutText(title(message), 200),
          body: [
            block(title(message), { weight: 'Bolder', size: 'Medium' }),
            block(words(message, 1_400)),
            ...(lines ? [block(lines, { fontType: 'Monospace' })] : []),
            ...(next ? [block(next, { fontType: 'Monospace' })] : []),
          ],
          actions: link ? [{ type: 'Action.OpenUrl', title: 'Dashboard', url: link }] : [],
        },
      },
    ],
  };
}

const SUBJECT_MAX = 150;
const TEXT_MAX = 2_000;

/**
 * @param {Message} message
 * @param {string} address
 * @returns {string}  For `sendmail -t -i`.
 */
export function toMail(message, address) {
  const { id, at, errorLines, next, link, home } = message;
  const subject = cutText(title(message), SUBJECT_MAX).replace(/[\u0000-\u001f\u007f]/g, ' ');
  const encoded = /^[ -~]*$/.test(subject) ? subject : `=?UTF-8?B?${Buffer.from(subject).toString('base64')}?=`;
  const header = [
    `To: ${address}`,
    `Subject: ${encoded}`,
    `Date: ${new Date(at).toUTCString().replace('GMT', '+0000')}`,
    `X-Nclust-Id: ${id}`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
  ];
  const body = [
    words(message, TEXT_MAX),
    ...(errorLines.length > 0 ? ['', ...errorLines.map((line) => `    ${line}`)] : []),
    ...(next ? ['', `Next: ${next}`] : []),
    ...(link ? ['', link] : []),
    ...['', `From nclust in ${home}`],
  ];
  return `${header.join('\n')}\n\n${body.map((line) => wrap(line)).join('\n')}\n`;
}

/**
 * @param {string} line
 * @returns {string}  In parts of at most 998 bytes.
 */
function wrap(line) {
  return line.replace(/.{240}/gsu, '$&\n');
}
