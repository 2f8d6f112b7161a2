import { parentPort, workerData } from 'node:worker_threads';
import { asPlain } from './plain.js';
import { describeError } from './describe-error.js';
import { importConfig } from './import-config.js';

// A thread of its own for the user's config: what it leaves running ends with it, what it prints does not mix with our data, and a promise that never
// settles is noticed.

const { file, env } = /** @type {{file: string, env: string|null}} */ (workerData);

// Remarks of Node.js on how it loads the file, which ends well or with an error.
process.removeAllListeners('warning');

try {
  const exported = await exportOf(await importConfig(file));
  const isFunction = typeof exported === 'function';
  parentPort?.postMessage({ ...asPlain(await (isFunction ? exported({ env }) : exported)), isFunction });
} catch (error) {
  parentPort?.postMessage({ error: describeError(error, file) });
}

/**
 * TypeScript that was compiled to CommonJS has its default export one level deeper.
 * @param {Record<string, unknown>} namespace
 */
async function exportOf(namespace) {
  const exported = await ('default' in namespace ? namespace.default : { ...namespace });
  const isCompiled = typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported;
  return isCompiled ? /** @type {{default: unknown}} */ (exported).default : exported;
}
