import { closeSync, openSync, readSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { isNode } from '../../shared/daemon/programs.js';
import { NclustError } from '../../shared/errors.js';
import { runAsUserSync } from '../../shared/host/run-as-user.js';
import { findProgram, isProgram } from './find-program.js';

/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { Owner } from './owner.js' */

/**
 * @typedef {object} Program
 * @property {'node' | 'exec'} kind
 * @property {string} file  Absolute.
 * @property {string} interpreter  Absolute, or "none".
 * @property {string[]} flags  Flags that nclust puts before the flags of the user.
 * @property {Record<string, string>} env  Defaults. A variable of the user wins.
 * @property {string | null} nodeVersion
 */

/**
 * @typedef {object} Where
 * @property {string | undefined} path  PATH.
 * @property {string} cwd
 * @property {{ file: string, version: string }} node
 * @property {Pick<Owner, 'uid' | 'gid'>} owner  Of the app. `--version` of an interpreter runs as
 *   this user, because this user may be able to replace the interpreter.
 * @property {Record<string, string | undefined>} env  Variables for `--version`.
 * @property {string[]} nodeArgs  The user's options for Node.js, including the options in
 *   NODE_OPTIONS.
 */

/** Interpreters to try for each extension, in order. @type {Record<string, string[]>} */
const BY_EXTENSION = {
  '.js': ['node'],
  '.cjs': ['node'],
  '.mjs': ['node'],
  '.ts': ['node', 'bun'],
  '.mts': ['node', 'bun'],
  '.cts': ['node', 'bun'],
  '.tsx': ['bun'],
  '.jsx': ['bun'],
  '.sh': ['bash', 'sh'],
  '.py': ['python3', 'python'],
  '.rb': ['ruby'],
  '.php': ['php'],
  '.pl': ['perl'],
  '.coffee': ['coffee'],
  '.ls': ['lsc'],
};

/** Names that "nclust start" does not need in front of a script. */
export const INTERPRETERS = new Set(Object.values(BY_EXTENSION).flat());

const TYPESCRIPT = new Set(['.ts', '.mts', '.cts']);

/** Options of Node.js that load a module before the script. */
const PRELOADS = /^(-r|--require|--import|--loader|--experimental-loader)(=|$)/;
/** Packages with which Node.js runs languages other than JavaScript. */
const LOADER = /\b(tsx|ts-node|ts-node-dev|swc-node|swc|esbuild|esbuild-register|sucrase|babel|jiti|tsimp)\b/;

/**
 * @param {string} script
 * @param {string | undefined} interpreter  The user's choice. "none" executes the script itself.
 * @param {Where} where
 * @returns {Program}  Throws ERR_NCLUST_INTERPRETER_NOT_FOUND, _INTERPRETER_UNSUPPORTED, or
 *   _SCRIPT_NOT_FOUND if the script cannot be read.
 */
export function resolveProgram(script, interpreter, where) {
  if (interpreter === undefined) return byFile(script, where);
  if (interpreter === 'none') return itself(script);
  const [, version] = /^node@(.*)$/.exec(interpreter) ?? [];
  if (version !== undefined) {
    throw new NclustError(
      'ERR_NCLUST_INTERPRETER_UNSUPPORTED',
      `--interpreter is "${interpreter}", but nclust does not support this form for a version of Node.js.`,
      {
        hint:
          `Give the path of the binary: --interpreter "$(nvm which ${/^[\w.]+$/.test(version) ? version : 22})" ` +
          'on the command line; in a config file, the path that nvm prints.',
      },
    );
  }
  return withInterpreter(script, [interpreter], where);
}

/**
 * @param {string} script
 * @param {Where} where
 * @returns {Program}
 */
function byFile(script, where) {
  const names = hasLoader(where.nodeArgs) ? ['node'] : BY_EXTENSION[extname(script).toLowerCase()];
  if (names) return withInterpreter(script, names, where);
  const head = tryHead(script);
  if (head.type === 'shebang' && /^node(js)?$/.test(head.program)) return withInterpreter(script, ['node'], where);
  if (head.type === 'binary' || (head.type === 'shebang' && isProgram(script))) return itself(script);
  return withInterpreter(script, head.type === 'shebang' ? [head.program] : ['node'], where);
}

/**
 * @param {Program} program
 * @param {string} script
 * @param {object} o
 * @param {string[]} o.args  For the script.
 * @param {string[]} o.given  The user's flags for the interpreter.
 * @param {string[]} [o.ours]  Flags that nclust puts after those of the program.
 * @returns {Partial<AppSpec>}
 */
export function programFields(
  { kind, file, interpreter, flags, env, nodeVersion },
  script,
  { args, given, ours = [] },
) {
  // If the user has given the subcommand of deno ("run"), do not add it again.
  const isComplete = flags.length > 0 && flags[0] === given[0];
  const interpreterArgs = isComplete ? given : [...flags, ...ours, ...given];
  const execArgs = execArgsOf({ kind, interpreter, interpreterArgs, script }, args);
  return { kind, file, nodeVersion, interpreter, interpreterEnv: env, interpreterArgs, execArgs };
}

/**
 * @param {Pick<AppSpec, 'kind' | 'interpreter' | 'interpreterArgs' | 'script'>} spec
 * @param {string[]} args
 */
export function execArgsOf({ kind, interpreter, interpreterArgs, script }, args) {
  return kind === 'node' ? [] : [...interpreterArgs, ...(interpreter === 'none' ? [] : [script]), ...args];
}

/**
 * @param {string | undefined} nodeOptions
 * @returns {string[]}  Unlike Node.js, does not handle quotes. The callers do not need that.
 */
export function splitNodeOptions(nodeOptions = '') {
  return nodeOptions.split(/\s+/).filter(Boolean);
}

/**
 * @param {string[]} nodeArgs
 * @returns {boolean}
 */
function hasLoader(nodeArgs) {
  return nodeArgs.some((arg) => PRELOADS.test(arg)) && nodeArgs.some((arg) => LOADER.test(arg));
}

/**
 * A file that may be executed but not read counts as a binary.
 * @param {string} script
 * @returns {Head}
 */
function tryHead(script) {
  try {
    return readHead(script);
  } catch (error) {
    if (isProgram(script)) return { type: 'binary' };
    throw new NclustError(
      'ERR_NCLUST_SCRIPT_NOT_FOUND',
      `"${script}" cannot be read (${/** @type {NodeJS.ErrnoException} */ (error).code}).`,
      { cause: error },
    );
  }
}

/**
 * @param {string} script
 * @returns {Program}
 */
function itself(script) {
  if (!isProgram(script)) {
    throw new NclustError(
      'ERR_NCLUST_INTERPRETER_NOT_FOUND',
      `"${script}" has to run without an interpreter, but it is not executable.`,
      { hint: `Try: chmod +x ${script}` },
    );
  }
  return { kind: 'exec', file: script, interpreter: 'none', flags: [], env: {}, nodeVersion: null };
}

/**
 * @param {string} script
 * @param {string[]} names  Uses the first program that exists and can run the script.
 * @param {Where} where
 */
function withInterpreter(script, names, where) {
  const found = names.flatMap((name) => findInterpreter(name, where) ?? []);
  const isTypeScript = TYPESCRIPT.has(extname(script).toLowerCase());
  const programs = found.map((file) => describe(file, isTypeScript, where));
  const able = programs.find((program) => program !== null);
  if (able) return able;
  if (found.length > 0) throw noTypeScript(script, nodeVersion(found[0], where));
  throw new NclustError(
    'ERR_NCLUST_INTERPRETER_NOT_FOUND',
    `"${script}" needs ${names.map((name) => `"${name}"`).join(' or ')}, which is not in PATH or is not executable.`,
    { hint: 'Install it, or give the path of one with --interpreter.' },
  );
}

/**
 * "node" means the Node.js that runs this command, not the first "node" in PATH, because nclust
 * knows the path and the version of this Node.js.
 * @param {string} name
 * @param {Where} where
 */
function findInterpreter(name, { path, cwd, node }) {
  return name === 'node' ? node.file : findProgram(name, { path, cwd });
}

/**
 * @param {string} file
 * @param {boolean} isTypeScript
 * @param {Where} where
 * @returns {Program | null}  Null: the program cannot run the script.
 */
function describe(file, isTypeScript, where) {
  const name = basename(file);
  const exec = {
    kind: /** @type {const} */ ('exec'),
    file,
    interpreter: file,
    flags: /** @type {string[]} */ ([]),
    env: {},
    nodeVersion: null,
  };
  if (/^python[\d.]*$/.test(name)) return { ...exec, env: { PYTHONUNBUFFERED: '1' } };
  if (name === 'deno') return { ...exec, flags: ['run'] };
  if (!isNode(file)) return exec;
  const version = nodeVersion(file, where);
  const flags = isTypeScript ? typeScriptFlags(version, where.nodeArgs) : [];
  return flags === null ? null : { ...exec, kind: 'node', flags, nodeVersion: version };
}

/**
 * @param {string} version
 * @param {string[]} nodeArgs
 * @returns {string[] | null}  Null: this Node.js cannot run TypeScript.
 */
function typeScriptFlags(version, nodeArgs) {
  if (hasLoader(nodeArgs)) return [];
  // Allows any file that the user preloads, because the file may register a loader.
  return typeStrippingFlags(version) ?? (nodeArgs.some((arg) => PRELOADS.test(arg)) ? [] : null);
}

/** Limits for `--version`. */
const VERSION = { timeoutMs: 5_000, maxBytes: 1_024 };

/**
 * @param {string} file
 * @param {Where} where
 */
function nodeVersion(file, { node, owner, env }) {
  if (file === node.file) return node.version;
  const failed = (/** @type {unknown} */ cause) =>
    new NclustError(
      'ERR_NCLUST_INTERPRETER_NOT_FOUND',
      `"${file}" --version failed, so it cannot be used as Node.js.`,
      { cause },
    );
  try {
    const { code, exceeded, output } = runAsUserSync(owner, file, ['--version'], { ...VERSION, env });
    if (code === 0 && exceeded === null) return output.toString('utf8').trim();
  } catch (error) {
    throw failed(error);
  }
  throw failed(undefined);
}

/**
 * How to run a file, according to its first bytes.
 * @typedef {{ type: 'shebang', program: string } | { type: 'binary' } | { type: 'text' }} Head
 */

const HEAD_BYTES = 512;

/** First bytes of an ELF or Mach-O file (both byte orders, 32 and 64 bit, universal). */
const MAGIC = ['7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe'];

/**
 * @param {string} file
 * @returns {Head}
 */
function readHead(file) {
  const fd = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const length = readSync(fd, bytes, 0, HEAD_BYTES, 0);
    return parseHead(bytes.subarray(0, length));
  } finally {
    closeSync(fd);
  }
}

/**
 * @param {Buffer} bytes
 * @returns {Head}
 */
function parseHead(bytes) {
  if (MAGIC.includes(bytes.toString('hex', 0, 4)) || bytes.includes(0)) return { type: 'binary' };
  const line = /^#!\s*(.*)/.exec(bytes.toString('utf8'))?.[1];
  if (!line) return { type: 'text' };
  const [first, ...rest] = line.trim().split(/\s+/);
  if (basename(first) !== 'env') return { type: 'shebang', program: basename(first) };
  const program = rest.find((word) => !word.startsWith('-') && !word.includes('='));
  return program ? { type: 'shebang', program: basename(program) } : { type: 'text' };
}

/**
 * Returns the flags that this version of Node.js needs to run TypeScript without a loader.
 * @param {string} version  As in `process.version`.
 * @returns {string[] | null}  Empty: no flag is needed. Null: this version cannot run TypeScript.
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
function noTypeScript(script, version) {
  return new NclustError(
    'ERR_NCLUST_INTERPRETER_UNSUPPORTED',
    `Node.js ${version} cannot run "${script}": TypeScript needs Node.js 22.6 or newer, a loader, bun or deno.`,
    {
      hint:
        'Give a loader with --node-args="--import tsx", or another program with --interpreter, or compile the ' +
        'script to JavaScript first.',
    },
  );
}
