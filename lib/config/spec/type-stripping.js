import { NclustError } from '../../shared/errors.js';

/**
 * The flags with which a Node.js runs TypeScript by itself.
 * @param {string} version  As `process.version` says it.
 * @returns {string[]|null}  Empty where it needs none; null where it cannot.
 */
export function typeStrippingFlags(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number);
  if (major > 23 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18)) return [];
  if (major === 23 || (major === 22 && minor >= 6)) return ['--experimental-strip-types'];
  return null;
}

/**
 * @param {string} script
 * @param {string} version
 */
export function noTypeScript(script, version) {
  return new NclustError('ERR_NCLUST_INTERPRETER_UNSUPPORTED', `Node.js ${version} cannot run "${script}": TypeScript needs Node.js 22.6 or newer, bun or deno.`, {
    hint: 'Give one of them with --interpreter, or compile the script to JavaScript first.',
  });
}
