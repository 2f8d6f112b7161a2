// Knows: how the code of a config file is run, in a process of its own.
// Must not: import anything outside of this folder, or trust what the file returns.
// Start at: evaluate() below, then import-config.js.
import { describeError } from './describe-error.js';
import { importConfig } from './import-config.js';
import { toPlain } from './plain.js';

/** @import { Loaded } from '../file/load.js' */
/** @import { EvaluationError } from './describe-error.js' */

/** @typedef {(Loaded & { variables: Variable[] }) | { error: EvaluationError }} Answer */

// A process of its own for the user's config: it may go to another folder or end itself, what it
// leaves running ends with it, and a promise that never settles is noticed. A thread would do for
// half of that: process.chdir() and process.umask() throw in one.

const { file, env } = /** @type {{ file: string, env: string | null }} */ (JSON.parse(process.argv.splice(2, 1)[0]));
const changedVariables = noteVariables(process.env);

// Node.js would keep what a slow reader has not taken yet, and lose it at the end.
for (const stream of [process.stdout, process.stderr]) /** @type {any} */ (stream)._handle?.setBlocking?.(true);
// Remarks of Node.js on how it loads the file, which ends well or with an error.
process.removeAllListeners('warning');
process.on('uncaughtException', fail);
process.on('disconnect', () => process.exit());
// Listening to that alone is no reason to stay.
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
 * The first one counts. Whoever asked ends this process then; one that ended by itself could be
 * gone before it is heard.
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

/**
 * Its value; null: it was removed.
 * @typedef {[name: string, value: string | null]} Variable
 */

/**
 * Remembers how an environment is.
 * @param {Record<string, string | undefined>} env
 * @returns {() => Variable[]}  Those that are another way by then.
 */
function noteVariables(env) {
  const before = { ...env };
  return () => {
    const names = new Set([...Object.keys(before), ...Object.keys(env)]);
    return [...names].filter((name) => before[name] !== env[name]).map((name) => [name, env[name] ?? null]);
  };
}
