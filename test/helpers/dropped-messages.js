import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns log lines about dropped messages. A test with an honest app expects an empty list,
 * because the keeper must accept every message of a real agent (daemon/keeper/agent-acts.js).
 * @param {string} home
 * @returns {string[]}
 */
export function droppedMessages(home) {
  const file = join(home, 'nclust.log');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"event":"message-dropped"'));
}
