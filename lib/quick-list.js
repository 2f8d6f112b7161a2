import { connect } from 'node:net';
import { renderList } from './render/list.js';
import { createPaint, wantsColour } from './render/paint.js';
import { homePaths, resolveHome } from './shared/paths.js';
import { PROTOCOL, TO_CLIENT_MAX_BYTES } from './shared/protocol.js';
import { createLineReader, parseLine, requestLine } from './shared/rpc.js';

/** @typedef {import('./shared/protocol.js').SlotStatus} SlotStatus */

const ANSWER_DEADLINE_MS = 2_000;

/**
 * `nclust ls` when all is well, without the modules that other commands and other days need. It is typed all day, and what it costs beyond
 * `node -e 0` (52.7 ms) is nearly all reading modules: 1.42 times that with the parser left out, 1.28 times like this; importing commander
 * adds 7 ms and chalk 12 (Node 20, medians of 31 runs).
 * @param {import('./perform.js').Io} io
 * @returns {Promise<boolean>}  False when anything is out of the ordinary: nothing was printed, and the command itself tells what it is.
 */
export async function quickList(io) {
  const answer = await ask(homePaths(resolveHome(io.env)).sock);
  if (!answer) return false;
  for (const notice of answer.notices) io.talk(`${notice}\n`);
  const hasColour = wantsColour({ isTTY: io.isTTY, isAllowed: true, env: io.env });
  await io.print(renderList(answer, { columns: io.isTTY ? io.columns : null, paint: createPaint(hasColour), nowMs: Date.now(), options: {} }));
  return true;
}

/**
 * @param {string} path
 * @returns {Promise<{slots: SlotStatus[], notices: string[]}|null>}
 */
function ask(path) {
  return new Promise((resolve) => {
    /** @type {any[]} */
    const results = [];
    const socket = connect({ path }, () => socket.write(requestLine(0, 'hello', {}) + requestLine(1, 'list', {})));
    const reader = createLineReader({
      maxBytes: TO_CLIENT_MAX_BYTES,
      onTooLong: () => socket.destroy(),
      onLine: (line) => {
        const parsed = parseLine(line);
        results.push('message' in parsed ? parsed.message.result : undefined);
        if (results.length === 2) socket.destroy();
      },
    });
    socket.setTimeout(ANSWER_DEADLINE_MS, () => socket.destroy());
    socket.on('data', reader.push);
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => {
      const [hello, list] = results;
      resolve(hello?.protocol === PROTOCOL && list ? list : null);
    });
  });
}
