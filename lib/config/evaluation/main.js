// Knows: how the code of a config file runs, in its own process.
// Must not: import anything outside of this folder, or trust what the file returns.
// Start at: evaluate() below, then import-config.js.
import { describeError } from './describe-error.js';
import { importConfig } from './import-config.js';
import { toPlain } from './plain.js';

/** @import { Loaded } from '../file/load.js' */
/** @import { EvaluationError } from './describe-error.js' */

/** @typedef {(Loaded & { variables: Variable[] }) | { error: EvaluationError }} Answer */

// The config file runs in a process of its own. It may change the folder, call process.exit(),
// leave timers running, or wait for a promise that never settles. A thread is not enough, because
// process.chdir() and process.umask() throw in a thread.

const { file, env } = /** @type {{ file: string, env: string | null }} */ (JSON.parse(process.argv.splice(2, 1)[0]));
const changedVariables = noteVariables(process.env);

// Writes synchronously, because otherwise Node.js drops output that a slow reader has not read when
// the process exits.
for (const stream of [process.stdout, process.stderr]) /** @type {any} */ (stream)._handle?.setBlocking?.(true);
// Hides the warnings of Node.js about the module format, because a failure becomes an error anyway.
process.removeAllListeners('warning');
process.on('uncaughtException', fail);
process.on('disconnect', () => process.exit());
// The channel must not keep this process alive.
process.channel?.unref();

evaluate().then((found) => answer(found), fail);

async function evaluate() {
  const exported = await readExport(await importConfig(file));
  const isFunction = typeof exported === 'function';
  return { ...toPlain(await (isFunction ? exported({ env }) : exported)), isFunction, variables: changedVariables() };
}

/** @param {unknown} error */
function fail(error) {
  answer({ error: describeError(error, file) });
}

/**
 * Keeps this process alive until the parent kills it, because an exit could lose the answer. The
 * parent reads only the first answer.
 * @param {Answer} message
 */
function answer(message) {
  process.send?.(message);
  process.channel?.ref();
}

/**
 * Returns the default export, or all exports. In TypeScript that was compiled to CommonJS, the
 * default export is one level deeper.
 * @param {Record<string, unknown>} namespace
 */
async function readExport(namespace) {
  const exported = await ('default' in namespace ? namespace.default : { ...namespace });
  const isCompiled =
    typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported;
  return isCompiled ? /** @type {{ default: unknown }} */ (exported).default : exported;
}

/** @typedef {[name: string, value: string | null]} Variable  Null: removed. */

/**
 * @param {Record<string, string | undefined>} env
 * @returns {() => Variable[]}  Returns the variables that have changed since noteVariables().
 */
function noteVariables(env) {
  const before = { ...env };
  return () => {
    const names = new Set([...Object.keys(before), ...Object.keys(env)]);
    return [...names].filter((name) => before[name] !== env[name]).map((name) => [name, env[name] ?? null]);
  };
}
