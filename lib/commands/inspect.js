import { toOneLine } from '../render/text.js';
import { reachListed } from './apps/targets.js';

/** @import { Context } from '../cli/session/context.js' */

/**
 * @typedef {object} Inspected
 * @property {{ id: number, name: string, slot: number, pid: number }} slot
 * @property {string | null} url  Null: the inspector is off.
 * @property {string | null} was  The previous URL. Null: the inspector was off.
 */

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<Inspected>}
 */
export async function inspect(context, words, { stop }) {
  const { client, targets } = await reachListed(context, words);
  const { slot, url, was } = await client.request('inspect', { target: targets[0], ...(stop ? { stop } : {}) });
  return { slot, url, was };
}

/** Other clients, such as "node inspect", ask the port for the address, and it does not answer. */
const DEVTOOLS = 'devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=';

/** @param {Inspected} data */
export function renderInspected({ slot: { id, name, pid }, url, was }) {
  const who = `"${toOneLine(name)}" (id ${id}, pid ${pid})`;
  if (url === null) return was === null ? `The inspector of ${who} was not on.\n` : `The inspector of ${who} is off.\n`;
  return [
    was === null ? `The inspector of ${who} is on:` : `The inspector of ${who} was on already:`,
    `  ${toOneLine(url)}`,
    `Open this in Chrome: ${DEVTOOLS}${new URL(url).host}${new URL(url).pathname}`,
    `or set "websocketAddress" in VS Code.`,
    `Anyone who knows this address can run code in the process. Stop it with: nclust inspect --stop ${id}`,
    '',
  ].join('\n');
}
