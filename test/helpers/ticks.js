import { expect } from 'vitest';
import { readSegments } from '../../daemon/control/logs/archive/segments.js';
import { install } from './installation.js';
import { nextWrite, wholeLog, wholeLogLines } from './log-files.js';

/** @import { Sandbox } from './sandbox.js' */

/**
 * @param {string} word
 * @param {number} count
 */
export const numbered = (word, count) => Array.from({ length: count }, (_, at) => `${word} ${at + 1}`);

/**
 * A failure shows only the first difference, because there are 100,000 lines.
 * @param {string[]} found
 * @param {string[]} expected
 */
export function expectLines(found, expected) {
  const at = expected.findIndex((line, index) => found[index] !== line);
  expect({ count: found.length, at, found: found.slice(Math.max(0, at), at + 3) }).toMatchObject({
    count: expected.length,
    at: -1,
  });
}

/**
 * Starts an app that writes 1,000 lines a second.
 * @param {Sandbox} home
 * @param {string[]} [flags]
 * @returns {Promise<string>}  The path of its log file.
 */
export async function startTicks(home, flags = []) {
  await home.nclust('start', home.place('ticks'), '--no-wait', '--no-autorestart', ...flags);
  return (await home.list())[0].outFile;
}

/**
 * Kills control `kills` times, each time right after a write. Then updates nclust.
 * @param {Sandbox} home
 * @param {{ kills: number, rotations: number }} o
 * @returns {Promise<{ found: string[], expected: string[] }>}
 */
export async function writeThroughKills(home, { kills, rotations }) {
  const outFile = await startTicks(home, ['--log-max-size', '1k', '--log-max-files', '10000']);
  for (let done = 0; done < kills; done += 1) {
    const { controlPid } = await home.daemon();
    await nextWrite(outFile);
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  }
  expect(await install(home, '9.9.9').nclust('update')).toMatchObject({ exitStatus: 0 });
  await home.waitFor(`${rotations} rotated files`, () => readSegments(outFile).length >= rotations);
  process.kill((await home.list())[0].pid, 'SIGINT');
  const count = await home.waitFor('the last line', () =>
    Number(/ticks ended after (\d+)\n$/.exec(wholeLog(outFile))?.[1]),
  );
  return { found: wholeLogLines(outFile).slice(0, -1), expected: numbered('ticks', count) };
}
