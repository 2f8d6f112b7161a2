import { cpSync } from 'node:fs';
import { get } from 'node:http';
import { fixturePath } from './fixtures.js';

/** @import { SlotStatus } from '../../lib/shared/wire/protocol.js' */
/** @import { Sandbox } from './sandbox.js' */

/**
 * @typedef {object} App
 * @property {string} name
 * @property {string} script  The copy that runs.
 * @property {number} port
 * @property {string} url
 * @property {() => Promise<SlotStatus[]>} instances
 * @property {() => Promise<number[]>} pids  In the order of the slots. 0: no process.
 * @property {(path?: string) => Promise<any>} get  The body, parsed if it is JSON.
 * @property {(fixture: string) => void} replaceWith
 */

/**
 * @param {Sandbox} home
 * @param {{ name: string, script: string, port: number }} o
 * @returns {App}
 */
export function createApp(home, { name, script, port }) {
  const url = `http://127.0.0.1:${port}`;
  const instances = async () => (await home.list()).filter((slot) => slot.name === name);
  return {
    name,
    script,
    port,
    url,
    instances,
    pids: async () => (await instances()).map((slot) => slot.pid),
    get: (path = '/') => fetchOnce(`${url}${path}`),
    replaceWith: (fixture) => cpSync(fixturePath(fixture), script),
  };
}

/** @param {string} url */
export function fetchOnce(url) {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, timeout: 10_000 }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (body += chunk));
      response.on('end', () => resolve(/json/.test(response.headers['content-type'] ?? '') ? JSON.parse(body) : body));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error(`${url} did not answer in 10 s`)));
    request.on('error', reject);
  });
}
