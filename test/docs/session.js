import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runProgram } from '../helpers/run-program.js';

/**
 * A fenced block of a page that is a file, or commands with their output:
 *
 *     ```js app.js          ```console
 *     ...                   $ nclust list
 *     ```                   ...
 *                           ```
 *
 * @typedef {object} Block
 * @property {string} info  The words behind the opening fence: "console", "js app.js".
 * @property {string} body
 * @property {number} start  Where the body begins in the text of the page.
 */

/**
 * @param {string} text
 * @returns {Block[]}
 */
function blocksOf(text) {
  return [...text.matchAll(/^```(\S.*)\n([^]*?)^```$/gm)].map(({ 1: info, 2: body, index }) => ({
    info,
    body,
    start: index + info.length + 4,
  }));
}

/**
 * Runs the commands of a page one after the other, and writes its files.
 * @param {string} text
 * @param {object} o
 * @param {string} o.cwd
 * @param {NodeJS.ProcessEnv} o.env
 * @param {(text: string) => string} [o.adapt]  Applied to each command and file.
 * @param {(text: string) => string} [o.restore]  Applied to each output.
 * @param {() => Promise<unknown>} [o.settle]  Called before each command, as a user waits.
 * @returns {Promise<{ text: string, runs: { command: string, expected: string, output: string }[] }>}
 *   The page with the new output, and each command with the old and the new output.
 */
export async function runPage(text, { cwd, env, adapt = same, restore = same, settle = async () => {} }) {
  const runs = [];
  const pieces = [];
  let folder = cwd;
  let end = 0;
  for (const { info, body, start } of blocksOf(text)) {
    const [language, file] = info.split(' ');
    if (file) {
      const path = join(folder, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, adapt(body));
    }
    if (language !== 'console') continue;
    pieces.push(text.slice(end, start));
    end = start + body.length;
    for (const [, command, expected] of body.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)) {
      await settle();
      const { output, folder: next } = await runCommand(adapt(command), folder, { ...env });
      folder = next;
      runs.push({ command, expected, output: restore(output) });
      pieces.push(`$ ${command}\n${restore(output)}`);
    }
  }
  return { text: [...pieces, text.slice(end)].join(''), runs };
}

function same(/** @type {string} */ text) {
  return text;
}

/**
 * @param {string} command
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 */
async function runCommand(command, cwd, env) {
  const place = join(env.HOME ?? '', '.page-folder');
  const script = `{ ${command}\n} 2>&1; pwd > "${place}"`;
  const { stdout } = await runProgram('bash', ['-c', script], { cwd, env }).done;
  const trimmed = stdout
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
  return { output: trimmed === '' ? '' : `${trimmed}\n`, folder: readFileSync(place, 'utf8').trim() };
}

/**
 * Makes two runs on two machines comparable: numbers, times, and rows that only differ in them, and
 * the stack of Node.js itself.
 * @param {string} output
 */
export function shapeOf(output) {
  const lines = output
    .replace(/^.* at .*\(?node:internal.*\n/gm, '')
    .replace(/Node\.js v[\d.]+/g, 'Node.js')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z?|\d\d:\d\d:\d\d/g, 'TIME')
    .replace(/\b\d+(?:\.\d+)?(?:ms|mb|kb|gb|s|m|%)?(?!\w|\.\w)/g, 'N')
    .replace(/N(?:, N)+/g, 'N')
    .replace(/instances/g, 'instance')
    .replace(/[─┬┴┼]+/g, '─')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim());
  return lines.filter((line, at) => line !== lines[at - 1]);
}
