import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Messages of agents that the manager did not take. A real agent sends none of these, so every test
 * with an honest app holds the table of the keeper (daemon/keeper/agent-acts.js) against it.
 * @param {string} home
 * @returns {string[]}  Lines of the log.
 */
export function droppedMessages(home) {
  const file = join(home, 'nclust.log');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /"event":"(message-dropped|fact-failed)"/.test(line));
}
