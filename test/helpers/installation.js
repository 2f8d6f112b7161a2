import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { runProgram } from './run-program.js';
import { nodeUnderTest } from './sandbox.js';

/** @import { Result, Running } from './run-program.js' */
/** @import { Sandbox } from './sandbox.js' */

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const PARTS = ['bin', 'lib', 'daemon'];

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
 * Copies nclust, because the user of an app has to read the agent, and may not be able to read the
 * checkout.
 * @returns {string}  bin/nclust.js of the copy, which is removed after the test.
 */
export function openInstallation() {
  const root = mkdtempSync(join(tmpdir(), 'nclust-open-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  chmodSync(root, 0o755);
  symlinkSync(join(PACKAGE, 'node_modules'), join(root, 'node_modules'));
  for (const part of [...PARTS, 'package.json']) cpSync(join(PACKAGE, part), join(root, part), { recursive: true });
  return join(root, 'bin/nclust.js');
}

/**
 * @param {string} root
 * @param {string} version
 * @param {Record<string, string>} edits
 */
function write(root, version, edits) {
  for (const part of PARTS) cpSync(join(PACKAGE, part), join(root, part), { recursive: true, force: true });
  const described = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...described, version }));
  for (const [file, text] of Object.entries(edits))
    writeFileSync(join(root, file), readFileSync(join(root, file), 'utf8') + text);
}
