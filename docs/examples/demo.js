// `npm run demo`: a clustered web server, requests to it, the list; in a home of its own, and
// nothing is left of it afterwards.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @import { AddressInfo } from 'node:net' */

const HERE = fileURLToPath(new URL('.', import.meta.url));
const NCLUST = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));

const home = await mkdtemp(join(tmpdir(), 'nclust-demo-'));
const port = await freePort();
const env = { ...process.env, NCLUST_HOME: home, PORT: String(port) };

try {
  await nclust('start', 'hello.js', '-i', '4');
  say('20 requests, answered by:');
  for (const [answer, count] of await askTwentyTimes()) say(`  ${count} x ${answer}`);

  const [victim] = (await nclustOutput('pid', 'hello')).split('\n');
  say(`\nkill -9 ${victim}, and 20 more requests while it is replaced:`);
  process.kill(Number(victim), 'SIGKILL');
  for (const [answer, count] of await askTwentyTimes()) say(`  ${count} x ${answer}`);
  await untilReplaced(victim);
  await nclust('list');
} finally {
  await nclust('kill');
  await rm(home, { recursive: true, force: true });
}

/** @param {string[]} words */
async function nclust(...words) {
  say(`\n$ nclust ${words.join(' ')}`);
  process.stdout.write(await nclustOutput(...words));
}

/**
 * @param {string[]} words
 * @returns {Promise<string>}
 */
function nclustOutput(...words) {
  const child = spawn(process.execPath, [NCLUST, ...words], { cwd: HERE, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.once('close', (status) =>
      status === 0 ? resolve(output) : reject(new Error(`nclust ${words.join(' ')} exited with ${status}\n${output}`)),
    );
  });
}

/** @returns {Promise<Map<string, number>>}  How often each process answered. */
async function askTwentyTimes() {
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  const counts = new Map();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return counts;
}

/** @returns {Promise<string>} */
function ask() {
  return new Promise((resolve) => {
    const request = get({ port, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += chunk)).on('end', () => resolve(body.trim()));
    });
    request.on('error', (error) => resolve(`no answer (${error.message})`));
  });
}

/** @param {string} victim */
async function untilReplaced(victim) {
  let pids;
  do pids = (await nclustOutput('pid', 'hello')).trim().split('\n');
  while (pids.length < 4 || pids.includes(victim) || pids.includes('0'));
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port: free } = /** @type {AddressInfo} */ (server.address());
      server.close(() => resolve(free));
    });
  });
}

/** @param {string} line */
function say(line) {
  process.stdout.write(`${line}\n`);
}
