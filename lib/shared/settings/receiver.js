// Receivers of notifications, as people write them: docs/notify.md.
import { shortScript } from '../without-secrets.js';

export const RECEIVER_FORMS =
  '"https://...", "slack:<address>", "discord:<address>", "teams:<address>", "exec:<command>" or "mail:<address>"; ' +
  'in place of an http(s) address also "file:/path", whose first line is the address';

const TEXT_MAX = 4_096;

/** @typedef {'json' | 'slack' | 'discord' | 'teams'} Service */

/**
 * @typedef {{ kind: 'web', service: Service | null, url: string }
 *   | { kind: 'file', service: Service | null, path: string }
 *   | { kind: 'exec', command: string }
 *   | { kind: 'mail', address: string }} Receiver  `service` null: the address shows it.
 */

/** Its characters cannot end a header, add a second address, or look like an option of sendmail. */
const MAILBOX = /^[\w.!#$%&'*+/=?^`{|}~][\w.!#$%&'*+/=?^`{|}~-]{0,63}(@[a-z\d][a-z\d.-]{0,252})?$/i;

/**
 * @param {string} text
 * @returns {Receiver | null}
 */
export function parseReceiver(text) {
  if (text.length > TEXT_MAX || text.includes('\0')) return null;
  const [, word, rest] = /^(slack|discord|teams|exec|mail):(.*)$/s.exec(text) ?? [];
  if (word === 'exec') return rest.trim() === '' ? null : { kind: 'exec', command: rest };
  if (word === 'mail') return MAILBOX.test(rest) ? { kind: 'mail', address: rest } : null;
  const service = /** @type {Service | undefined} */ (word) ?? null;
  const place = rest ?? text;
  if (place.startsWith('file:/')) return { kind: 'file', service, path: place.slice('file:'.length) };
  return isWebAddress(place) ? { kind: 'web', service, url: place } : null;
}

/** @param {string} text */
export function isWebAddress(text) {
  return /^https?:\/\/[^\s/]/i.test(text) && !/[\s\u0000-\u001f]/.test(text) && URL.canParse(text);
}

/**
 * @param {string} url
 * @returns {Service}
 */
export function recognizeService(url) {
  const { hostname, pathname } = new URL(url);
  if (hostname === 'hooks.slack.com') return 'slack';
  if (/(^|\.)(discord|discordapp)\.com$/.test(hostname) && pathname.startsWith('/api/webhooks/')) return 'discord';
  return /\.(webhook\.office\.com|logic\.azure\.com|api\.powerplatform\.com)$/.test(hostname) ? 'teams' : 'json';
}

/**
 * Leaves out the secret parts: of an address everything after the host, of a command its arguments.
 * @param {string} text
 * @returns {string}
 */
export function shortReceiver(text) {
  const receiver = parseReceiver(text);
  if (receiver?.kind === 'exec') return `exec ${shortScript(receiver.command, ['-c'])}`;
  if (receiver?.kind === 'mail') return `mail ${receiver.address}`;
  if (receiver?.kind === 'file') return `${receiver.service ? `${receiver.service} ` : ''}file:${receiver.path}`;
  if (!receiver) return '…';
  const { protocol, host } = new URL(receiver.url);
  const service = receiver.service ?? recognizeService(receiver.url);
  return `${service === 'json' ? '' : `${service} `}${protocol}//${host}/…`;
}
