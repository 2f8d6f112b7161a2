import { Agent, get } from 'node:http';
import { onTestFinished } from 'vitest';

/** @import { RequestOptions } from 'node:http' */

/**
 * @param {RequestOptions} to
 * @param {{ timeoutMs?: number }} [o]
 * @returns {Promise<{ pid: number, ms: number }>}
 */
export function ask(to, { timeoutMs = 5_000 } = {}) {
  const startedMono = performance.now();
  return new Promise((resolve, reject) => {
    const request = get({ agent: false, timeout: timeoutMs, ...to }, (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (text) => {
          body += text;
        })
        .on('error', reject);
      response.on('end', () => resolve({ ...JSON.parse(body), ms: performance.now() - startedMono }));
    });
    request.on('error', reject).on('timeout', () => request.destroy(new Error('hung')));
  });
}

/**
 * @param {RequestOptions} to
 * @param {number} count
 * @param {'burst' | 'one by one'} how
 * @returns {Promise<Map<number, number>>}  Connections by pid.
 */
export async function openConnections(to, count, how) {
  const agents = Array.from({ length: count }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  onTestFinished(() => {
    for (const agent of agents) agent.destroy();
  });
  const answers = how === 'burst' ? await Promise.all(agents.map((agent) => ask({ ...to, agent }))) : [];
  if (how === 'one by one') for (const agent of agents) answers.push(await ask({ ...to, agent }));
  /** @type {Map<number, number>} */
  const byPid = new Map();
  for (const { pid } of answers) byPid.set(pid, (byPid.get(pid) ?? 0) + 1);
  return byPid;
}

/**
 * @param {Map<number, number>} byPid
 * @param {number} workers
 * @returns {number}  Connections of the busiest worker divided by the mean.
 */
export function busiest(byPid, workers) {
  const counts = [...byPid.values()];
  return Math.max(...counts) / (counts.reduce((sum, one) => sum + one, 0) / workers);
}
