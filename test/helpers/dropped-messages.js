import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A real agent sends no message that the manager drops, so every test with an honest app checks the
 * table of the keeper (daemon/keeper/agent-acts.js).
 * @param {string} home
 * @returns {string[]}
 */
export function droppedMessages(home) {
  const file = join(home, 'nclust.log');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /"event":"(message-dropped|fact-failed)"/.test(line));
}
