// Knows: the program behind `nclust serve`: files of a folder over HTTP.
// Must not: serve anything outside of its folder, or know of the manager.
// Start at: this file, then handler.js; path.js finds the file of a request.
import { resolve } from 'node:path';
import { formatAddress } from '../shared/address.js';
import { isFolder } from '../shared/daemon/files.js';
import { createStaticServer } from './handler.js';
import { readServeSettings, readVariables } from './options.js';

// All settings come from the environment, because other users can see a password in the arguments.

/** @param {string} sentence */
const printMessage = (sentence) => process.stderr.write(`${new Date().toISOString()} ${sentence}\n`);

/** @param {Error & { code?: string }} error */
function giveUp(error) {
  printMessage(`nclust serve: ${error.message}`);
  process.exitCode = 1;
}

try {
  const settings = readServeSettings(readVariables(process.env));
  const path = resolve(settings.path);
  if (!isFolder(path)) throw new Error(`The folder "${path}" does not exist, or is not a folder.`);
  const { host, port } = settings;
  const server = createStaticServer({ ...settings, path }, printMessage);
  server.on('error', (/** @type {NodeJS.ErrnoException} */ error) => giveUp(explain(error, host, port)));
  server.listen(port, host, () => {
    process.stdout.write(`Serving ${path} on ${formatAddress({ host, port })}\n`);
    process.send?.('ready');
  });
} catch (error) {
  giveUp(/** @type {Error} */ (error));
}

/**
 * @param {NodeJS.ErrnoException} error
 * @param {string} host
 * @param {number} port
 */
function explain(error, host, port) {
  if (error.code === 'EADDRINUSE') return new Error(`Port ${port} on ${host} is in use: ${error.message}`);
  if (error.code === 'EACCES')
    return new Error(`This user may not listen on port ${port} of ${host}: ${error.message}`);
  if (error.code === 'EADDRNOTAVAIL') return new Error(`"${host}" is not an address of this machine: ${error.message}`);
  return error;
}
