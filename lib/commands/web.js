import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWebAddress } from '../shared/settings/web-target.js';

/** @typedef {{isOn: true, url: string, host: string, port: number, mayAct: boolean, isRemote: boolean, takenPorts: number[]}} WebShown */
/** @typedef {{isOn: false, wasOn: boolean}} WebEnded */
/** @typedef {WebShown|WebEnded} WebAnswer */

/**
 * Serves the dashboard, or ends that.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<WebAnswer>}  Throws ERR_NCLUST_BAD_SETTING, ERR_NCLUST_WEB_FAILED, ERR_NCLUST_SETTINGS_FILE.
 */
export async function web(context, _words, { listen, allowActions, allowRemote, newToken, off, open, json }) {
  if (off) return end(context, json);
  const client = await context.manager();
  /** @type {WebShown} */
  const answer = await client.request('web', { listen, mayAct: allowActions, allowRemote, isNewToken: newToken });
  if (!json) for (const sentence of sentencesOf(answer)) context.talk(sentence);
  const opener = openerIn(context.home);
  if (open) await (await import('./open-browser.js')).openBrowser(answer.url, { opener, talk: context.talk });
  else if (newToken) await rm(opener, { force: true });
  return answer;
}

/**
 * A manager is not started for it: it might bring back apps that nobody wants now.
 * @param {import('../cli/context.js').Context} context
 * @param {boolean|undefined} isQuiet
 * @returns {Promise<WebEnded>}
 */
async function end(context, isQuiet) {
  const client = await context.running();
  /** @type {WebEnded} */
  const answer = client ? await client.request('web', { isOff: true }) : (await import('./web-off.js')).forgetDashboard(context.home);
  await rm(openerIn(context.home), { force: true });
  if (!isQuiet) context.talk(client ? `The dashboard ${answer.wasOn ? 'is not served any more' : 'was not served'}.` : `No nclust runs in "${context.home}", so no dashboard is served.${answer.wasOn ? ' The next one will serve none either.' : ''}`);
  return answer;
}

/** What leads a browser there. @param {string} home */
function openerIn(home) {
  return join(home, 'web-open.html');
}

/** @param {WebShown} answer */
function sentencesOf({ port, takenPorts, mayAct, isRemote, host }) {
  return [
    ...(takenPorts.length > 0 ? [`Port ${takenPorts[0]} is taken by another program; the dashboard has ${port}.`] : []),
    mayAct ? 'The dashboard: whoever has this address may look, start, stop, restart, reload and scale.' : 'The dashboard: whoever has this address may look, and change nothing (to allow that: nclust web --allow-actions).',
    ...(isRemote ? [`Others can reach ${writeWebAddress({ host, port })}, and nothing is encrypted: who listens on the way has the token. Better: 127.0.0.1 and a tunnel (ssh -L ${port}:127.0.0.1:${port} host), or a proxy with TLS that sets Host and Origin (see docs/web.md).`] : []),
    'It stays until: nclust web --off',
  ];
}
