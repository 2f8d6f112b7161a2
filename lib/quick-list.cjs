'use strict';

const { connect } = require('node:net');
const { PROTOCOL, resolveHome, socketPath } = require('./shared/socket.cjs');

/** @typedef {import('./shared/protocol.js').BriefStatus} BriefStatus */

const ANSWER_DEADLINE_MS = 2_000;

/**
 * `nclust ls` when all is well, without the modules that other commands and other days need. With 30 processes it takes 1.32 times as long as
 * `node -e 0`; it took 1.74 times when these modules and bin/nclust.js were ES modules (Node 20, medians of 61 runs in turns). A CommonJS module
 * costs 0.2 ms here, an ES module 0.4 and the first of them 3.
 * @param {import('./perform.js').Io} io
 * @returns {Promise<boolean>}  False when anything is out of the ordinary: nothing was printed, and the command itself tells what it is.
 */
async function quickList(io) {
  const list = await ask(socketPath(resolveHome(io.env)), loadRender);
  if (!list) return false;
  const { byName, createPaint, renderSlots, wantsColour } = loadRender();
  for (const notice of list.notices) io.talk(`${notice}\n`);
  const hasColour = wantsColour({ isTTY: io.isTTY, isAllowed: true, env: io.env });
  await io.print(renderSlots(list.slots.sort(byName), { columns: io.isTTY ? io.columns : null, paint: createPaint(hasColour), nowMs: Date.now() }));
  return true;
}

/** A millisecond of reading modules, which passes while control answers. */
function loadRender() {
  return { ...require('./render/slots.cjs'), ...require('./render/paint.cjs') };
}

/**
 * Two requests in one write; their answers come in any order.
 * @param {string} path
 * @param {() => void} onAsked  Called when control has got them.
 * @returns {Promise<{slots: BriefStatus[], notices: string[]}|null>}
 */
function ask(path, onAsked) {
  return new Promise((resolve) => {
    /** @type {Buffer[]} */
    const chunks = [];
    /** @type {NodeJS.Timeout|undefined} */
    let deadline;
    const settle = (/** @type {string[]} */ lines) => {
      clearTimeout(deadline);
      resolve(readAnswers(lines));
      // Not at once: it takes half a millisecond, and the command is over before.
      setImmediate(() => socket.destroy());
    };
    const socket = connect({ path }, () => {
      socket.write(REQUESTS);
      deadline = setTimeout(settle, ANSWER_DEADLINE_MS, []);
      onAsked();
    });
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (chunk.at(-1) !== NEWLINE) return;
      const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
      if (lines.length === 2) settle(lines);
    });
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => settle([]));
  });
}

const NEWLINE = 0x0a;

const REQUESTS = [
  { jsonrpc: '2.0', id: 'hello', method: 'hello' },
  { jsonrpc: '2.0', id: 'list', method: 'list', params: { brief: true } },
].map((request) => `${JSON.stringify(request)}\n`).join('');

/** @param {string[]} lines */
function readAnswers(lines) {
  try {
    const answers = lines.map((line) => JSON.parse(line));
    const resultOf = (/** @type {string} */ name) => answers.find(({ id }) => id === name)?.result;
    return resultOf('hello')?.protocol === PROTOCOL ? resultOf('list') ?? null : null;
  } catch {
    return null; // Whoever answers, it is not control.
  }
}

module.exports = { quickList };
