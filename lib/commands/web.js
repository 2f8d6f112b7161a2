import { join } from 'node:path';
import { writeWebAddress } from '../shared/web-target.js';

/**
 * @typedef {{isOn: true, url: string, host: string, port: number, mayAct: boolean, isRemote: boolean, takenPorts: number[]} | {isOn: false, wasOn: boolean}} WebAnswer
 */

/**
 * Serves the dashboard, or ends that.
 * @param {import('../context.js').Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<WebAnswer>}  Throws ERR_NCLUST_BAD_SETTING, ERR_NCLUST_WEB_FAILED, ERR_NCLUST_SETTINGS_FILE.
 */
export async function web(context, _words, { listen, allowActions, allowRemote, newToken, off, open, json }) {
  const client = await context.manager();
  /** @type {WebAnswer} */
  const answer = await client.request('web', off ? { isOff: true } : { listen, mayAct: allowActions, allowRemote, isNewToken: newToken });
  if (!json) for (const sentence of sentencesOf(answer)) context.talk(sentence);
  const opener = join(context.home, 'web-open.html');
  if (answer.isOn && open) await (await import('../open-browser.js')).openBrowser(answer.url, { opener, talk: context.talk });
  else if (!answer.isOn || newToken) await (await import('node:fs/promises')).rm(opener, { force: true });
  return answer;
}

/** @param {WebAnswer} answer */
function sentencesOf(answer) {
  if (!answer.isOn) return [answer.wasOn ? 'The dashboard is not served any more.' : 'The dashboard was not served.'];
  const { port, takenPorts, mayAct, isRemote } = answer;
  return [
    ...(takenPorts.length > 0 ? [`Port ${takenPorts[0]} is taken by another program; the dashboard has ${port}.`] : []),
    mayAct ? 'The dashboard: whoever has this address may look, start, stop, restart, reload and scale.' : 'The dashboard: whoever has this address may look, and change nothing (to allow that: nclust web --allow-actions).',
    ...(isRemote ? [`Others can reach ${writeWebAddress(answer)}, and nothing is encrypted: who listens on the way has the token. Better: 127.0.0.1 and a tunnel (ssh -L ${port}:127.0.0.1:${port} host), or a proxy with TLS.`] : []),
    'It stays until: nclust web --off',
  ];
}
