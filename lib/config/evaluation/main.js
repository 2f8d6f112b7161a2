// Knows: how the code of a config file runs, in its own process. Must not: import anything outside
// of this folder, or trust what the file returns. Start at: evaluate() below, then
// import-config.js.
import { describeError } from './describe-error.js';
import { importConfig } from './import-config.js';
import { toPlain } from './plain.js';

/** @import { Loaded } from '../file/load.js' */
/** @import { EvaluationError } from './describe-error.js' */

/** @typedef {(Loaded & { variables: Variable[] }) | { error: EvaluationError }} Answer */

// The user's config runs in its own process: it may change the folder or exit, everything it leaves
// running ends with the process, and a promise that never settles is noticed. A thread would solve
// only half of that: process.chdir() and process.umask() throw in one.

const { file, env } = /** @type {{ file: string, env: string | null }} */ (JSON.parse(process.argv.splice(2, 1)[0]));
const changedVariables = noteVariables(process.env);

// Otherwise Node.js would buffer output for a slow reader, and lose it at the end.
for (const stream of [process.stdout, process.stderr]) /** @type {any} */ (stream)._handle?.setBlocking?.(true);
// Warnings of Node.js about how it loads the file, which either works or is an error.
process.removeAllListeners('warning');
process.on('uncaughtException', fail);
process.on('disconnect', () => process.exit());
// The channel alone must not keep the process alive.
process.channel?.unref();

evaluate().then((found) => answer(found), fail);

async function evaluate() {
  const exported = await exportOf(await importConfig(file));
  const isFunction = typeof exported === 'function';
  return { ...toPlain(await (isFunction ? exported({ env }) : exported)), isFunction, variables: changedVariables() };
}

/** @param {unknown} error */
function fail(error) {
  answer({ error: describeError(error, file) });
}

/**
 * Sends the first answer. The parent ends this process then; if it exited on its own, the answer
 * could be lost.
 * @param {Answer} message
 */
function answer(message) {
  process.send?.(message);
  process.channel?.ref();
}

/**
 * TypeScript that was compiled to CommonJS has its default export one level deeper.
 * @param {Record<string, unknown>} namespace
 */
async function exportOf(namespace) {
  const exported = await ('default' in namespace ? namespace.default : { ...namespace });
  const isCompiled =
    typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported;
  return isCompiled ? /** @type {{ default: unknown }} */ (exported).default : exported;
}

/** @typedef {[name: string, value: string | null]} Variable  Null: it was removed. */

/**
 * Records the present environment.
 * @param {Record<string, string | undefined>} env
 * @returns {() => Variable[]}  Variables that have changed since.
 */
function noteVariables(env) {
  const before = { ...env };
  return () => {
    const names = new Set([...Object.keys(before), ...Object.keys(env)]);
    return [...names].filter((name) => before[name] !== env[name]).map((name) => [name, env[name] ?? null]);
  };
}
