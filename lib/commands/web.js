import { spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkHome } from '../client/check-home.js';
import { toOneLine } from '../render/text.js';
import { formatAddress } from '../shared/address.js';
import { withoutInherited } from '../shared/daemon/inherited-descriptors.js';
import { NclustError } from '../shared/errors.js';
import { replaceFile } from '../shared/host/replace-file.js';
import { homePaths } from '../shared/paths.js';
import { readSettingsFile, readSettingsText } from '../shared/settings/rules.js';

/** @import { Context } from '../cli/session/context.js' */

/**
 * @typedef {object} WebShown
 * @property {true} isOn
 * @property {string} url
 * @property {string} host
 * @property {number} port
 * @property {boolean} mayAct
 * @property {boolean} isRemote
 * @property {number[]} takenPorts
 */
/** @typedef {{ isOn: false, wasOn: boolean }} WebEnded */
/** @typedef {WebShown | WebEnded} WebAnswer */

/**
 * @param {Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<WebAnswer>}
 */
export async function web(context, _words, { listen, allowActions, allowRemote, newToken, off, open }) {
  if (off) return end(context);
  const client = await context.manager();
  /** @type {WebShown} */
  const answer = await client.request('web', { listen, mayAct: allowActions, allowRemote, isNewToken: newToken });
  buildSentences(answer).forEach(context.printUnlessJson);
  const opener = findOpener(context.home);
  if (open) await openBrowser(answer.url, { opener, printMessage: context.printMessage });
  else if (newToken) await rm(opener, { force: true });
  return answer;
}

/**
 * Does not start a manager, because a new manager would restore all apps.
 * @param {Context} context
 */
async function end(context) {
  const client = await context.runningManager();
  /** @type {WebEnded} */
  const answer = client ? await client.request('web', { isOff: true }) : forgetDashboard(context.home);
  await rm(findOpener(context.home), { force: true });
  context.printUnlessJson(
    client
      ? `The dashboard ${answer.wasOn ? 'is not served any more' : 'was not served'}.`
      : `No nclust runs in "${context.home}", so no dashboard is ` +
          `served.${answer.wasOn ? ' The next manager will not serve one either.' : ''}`,
  );
  return answer;
}

/** @param {string} home */
function findOpener(home) {
  return join(home, 'web-open.html');
}

/** @param {WebShown} answer */
function buildSentences({ port, takenPorts, mayAct, isRemote, host }) {
  return [
    ...(takenPorts.length > 0
      ? [`Port ${takenPorts[0]} is taken by another program; the dashboard uses ${port}.`]
      : []),
    mayAct
      ? 'Anyone who has this address can view the dashboard, and start, stop, restart, reload and scale apps.'
      : 'Anyone who has this address can view the dashboard, but change nothing (to allow changes: nclust web ' +
        '--allow-actions).',
    ...(isRemote
      ? [
          `Others can reach ${formatAddress({ host, port })}, and nothing is encrypted: anyone who listens ` +
            `on the network can read the token. Better: 127.0.0.1 and a tunnel ` +
            `(ssh -L ${port}:127.0.0.1:${port} host), or a proxy with TLS that sets Host and Origin (see docs/web.md).`,
        ]
      : []),
    'To stop it: nclust web --off',
  ];
}

const KEYS = ['web.listen', 'web.actions', 'web.allow_remote'];

/**
 * Lets the next manager start without the dashboard, and deletes the token.
 * @param {string} home
 * @returns {{ isOn: false, wasOn: boolean }}
 */
function forgetDashboard(home) {
  const { settings, webToken } = homePaths(home);
  const { given, values, broken } = readSettingsFile(settings);
  if (broken !== null)
    throw new NclustError('ERR_NCLUST_SETTINGS_FILE', `The settings in "${settings}" cannot be changed: ${broken}.`, {
      hint: 'Fix the file or move it away; nothing was changed.',
    });
  const isSet = KEYS.some((key) => Object.hasOwn(given, key));
  // Refuses the home of another user, who could not read a file that root writes here.
  if (isSet || existsSync(webToken)) checkHome(home);
  if (isSet) writeWithout(settings);
  rmSync(webToken, { force: true });
  return { isOn: false, wasOn: values['web.listen'].kind !== 'none' };
}

/** @param {string} file */
function writeWithout(file) {
  const kept = Object.entries(JSON.parse(readSettingsText(file) ?? '{}')).filter(([key]) => !KEYS.includes(key));
  try {
    replaceFile(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new NclustError(
      'ERR_NCLUST_SETTINGS_FILE',
      `The settings could not be written to "${file}" (${code ?? message}); nothing was changed.`,
      { hint: 'Make room on the disk or fix the permissions of the home, then repeat the command.', cause: error },
    );
  }
}

/**
 * Other users can read command lines, and the address contains the token. So the browser opens a
 * private file that redirects to the address.
 * @param {string} url
 * @param {object} o
 * @param {string} o.opener  The private file. An old file is replaced.
 * @param {(sentence: string) => void} o.printMessage
 * @returns {Promise<void>}  Never rejects.
 */
async function openBrowser(url, { opener, printMessage }) {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  try {
    rmSync(opener, { force: true });
    writeFileSync(
      opener,
      `<!doctype html>\n<meta charset="utf-8">\n<title>nclust</title>\n<meta http-equiv="refresh" ` +
        `content="0;url=${url}">\n`,
      { mode: 0o600, flag: 'wx' },
    );
    await new Promise((resolve, reject) => {
      const ignored = /** @type {const} */ (['ignore', 'ignore', 'ignore']);
      const child = withoutInherited([...ignored], (stdio) => spawn(program, [opener], { detached: true, stdio }));
      child.once('error', reject).once('spawn', () => resolve(undefined));
      child.unref();
    });
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    printMessage(`No browser was opened (${program}: ${code ?? message}). Copy the address into yours.`);
  }
}

/** @param {WebAnswer} answer */
export function renderWeb(answer) {
  return answer.isOn ? `${toOneLine(answer.url)}\n` : '';
}
