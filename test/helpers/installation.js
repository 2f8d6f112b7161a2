import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from './run-program.js';
import { nodeUnderTest } from './sandbox.js';

/** @import { Result, Running } from './run-program.js' */
/** @import { Sandbox } from './sandbox.js' */

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @typedef {object} Installation
 * @property {string} root
 * @property {(...args: (string | { env: Record<string, string> })[]) => Promise<Result>} nclust
 * @property {(...args: (string | { env: Record<string, string> })[]) => Running} follow
 * @property {(version: string, edits?: Record<string, string>) => void} overwrite  In place.
 */

/**
 * @param {Sandbox} home  The installation is in this home, and is removed with it.
 * @param {string} version
 * @param {Record<string, string>} [edits]  Texts to append, by path in the package.
 * @returns {Installation}
 */
export function install(home, version, edits = {}) {
  const root = join(home.work, `nclust-${version}`);
  mkdirSync(root);
  symlinkSync(join(PACKAGE, 'node_modules'), join(root, 'node_modules'));
  write(root, version, edits);
  /** @type {Installation['follow']} */
  const follow = (...args) => {
    const words = args.filter((arg) => typeof arg === 'string');
    const env = Object.assign({}, home.env, ...args.flatMap((arg) => (typeof arg === 'string' ? [] : [arg.env])));
    return runProgram(nodeUnderTest(), ['--', join(root, 'bin/nclust.js'), ...words], { cwd: home.work, env });
  };
  return {
    root,
    follow,
    nclust: (...args) => follow(...args).done,
    overwrite: (next, more = {}) => write(root, next, more),
  };
}

/**
 * @param {string} root
 * @param {string} version
 * @param {Record<string, string>} edits
 */
function write(root, version, edits) {
  for (const part of ['bin', 'lib', 'daemon'])
    cpSync(join(PACKAGE, part), join(root, part), { recursive: true, force: true });
  const described = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...described, version }));
  for (const [file, text] of Object.entries(edits))
    writeFileSync(join(root, file), readFileSync(join(root, file), 'utf8') + text);
}
