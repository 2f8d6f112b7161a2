import { accessSync, constants, existsSync } from 'node:fs';
import { extname, isAbsolute } from 'node:path';
import { allInOrder } from '../../../lib/shared/all-in-order.js';
import { isFile, isFolder } from '../../../lib/shared/daemon/files.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { runAsUser } from '../../../lib/shared/host/run-as-user.js';
import { flatten, listLayers } from '../../../lib/app-spec/layers.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */

/** A script that takes longer to parse is not checked. */
const PARSE_MS = 5_000;
const ERRORS_MAX_BYTES = 1024 * 1024;

const PARSED = new Set(['.js', '.cjs', '.mjs']);

const EXPERIMENTAL = /experimental-(loader|strip-types|transform-types|default-type|detect-module)/;

/** With these options Node.js may run a script that does not parse as JavaScript. */
const CHANGES_LOADING = new RegExp(`^(-r|--require|--import|--loader|--${EXPERIMENTAL.source})(=|$)`);

/**
 * Errors that do not count, because some versions of Node.js check every `.js` as CommonJS, but run
 * it as a module.
 */
const MAYBE_MODULE = new RegExp(
  [
    /Cannot use import statement outside a module/,
    /Unexpected token 'export'/,
    /Cannot use 'import\.meta' outside a module/,
    /await is only valid/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Limit for checks at the same time, because each check starts a process. */
const AT_ONCE = 4;

/**
 * Checks apps before control replaces their running instances.
 * @param {AppSpec[]} specs
 * @param {'reload' | 'restart'} method
 * @returns {Promise<void>}  Rejects with ERR_NCLUST_PREFLIGHT for the first app that would fail.
 */
export async function preflight(specs, method) {
  for (let at = 0; at < specs.length; at += AT_ONCE)
    await allInOrder(specs.slice(at, at + AT_ONCE).map((spec) => checkOne(spec, method)));
}

/**
 * @param {AppSpec} spec
 * @param {'reload' | 'restart'} method
 */
async function checkOne(spec, method) {
  const fault = findFault(spec) ?? (await findSyntaxError(spec));
  if (fault) throw preflightError(spec, method, fault);
}

/**
 * @param {AppSpec} spec
 * @param {'reload' | 'restart'} method
 * @param {string} fault
 */
function preflightError({ name }, method, fault) {
  const what = method === 'reload' ? 'Reload' : 'Restart';
  return new NclustError('ERR_NCLUST_PREFLIGHT', `${what} of "${name}" was refused: ${fault}. Nothing was changed.`, {
    hint: 'Fix it, then run the command again.',
    data: { name, fault },
  });
}

/** @param {AppSpec} spec */
function findFault(spec) {
  const { kind, script, file, cwd } = spec;
  const port = listPorts(spec).find(isImpossiblePort);
  if (!isFolder(cwd)) return `its working directory "${cwd}" does not exist`;
  if (!isExecutable(file)) return `its interpreter "${file}" is missing or is not executable`;
  if ((kind === 'node' || isPath(script)) && !isFile(script))
    return `its script "${script}" is missing or is not a file`;
  if (port !== undefined) return `PORT is ${port}, but ports are numbers from 0 to 65535`;
  return null;
}

/**
 * A text with a space is a shell command.
 * @param {string} script
 */
function isPath(script) {
  return isAbsolute(script) && !/\s/.test(script);
}

/** @param {AppSpec} spec */
function listPorts(spec) {
  const last = typeof spec.instances === 'number' ? Math.max(0, spec.instances - 1) : 0;
  return [0, last].flatMap((slot) => flatten(listLayers(spec, { id: 0, slot }, '')).PORT ?? []);
}

/**
 * Whether the text is a number that cannot be a port. Other text is possible: it may be the path of
 * a Unix socket, and an empty text often means the default port.
 * @param {string} port
 */
function isImpossiblePort(port) {
  return /^\s*[+-]?\d+\s*$/.test(port) && (Number(port) < 0 || Number(port) > 65_535);
}

/**
 * The check runs as the user of the app, because that user may be able to replace the interpreter.
 * @param {AppSpec} spec
 * @returns {Promise<string | null>}
 */
async function findSyntaxError({ kind, file, script, interpreterArgs, uid, gid }) {
  if (kind !== 'node' || !PARSED.has(extname(script)) || interpreterArgs.some((arg) => CHANGES_LOADING.test(arg)))
    return null;
  const limits = { env: {}, timeoutMs: PARSE_MS, maxBytes: ERRORS_MAX_BYTES, stream: /** @type {const} */ ('stderr') };
  const outcome = await runAsUser({ uid, gid }, file, ['--check', script], limits).catch(() => null);
  const errors = outcome?.output.toString('utf8') ?? '';
  const line = errors.split('\n').find((one) => /^\w*SyntaxError/.test(one));
  // Only a syntax error is a fault of the script. A timeout, for example, is not.
  return outcome?.exceeded === null && outcome.code !== 0 && line && !MAYBE_MODULE.test(line)
    ? `"${script}" does not parse: ${line}${describeLine(errors, script)}`
    : null;
}

/**
 * @param {string} stderr  Begins with "file:line".
 * @param {string} script
 */
function describeLine(stderr, script) {
  const [first] = stderr.split('\n');
  const line =
    first.startsWith(script) || first.startsWith(`file://${script}`) ? /:(\d+)$/.exec(first)?.[1] : undefined;
  return line ? ` (line ${line})` : '';
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return isFile(path);
  } catch {
    return false;
  }
}

/**
 * If a version manager has removed the Node.js of an app, the app runs on the Node.js of control,
 * unless the user has chosen the interpreter.
 * @param {AppSpec} spec
 * @param {{ exists?: (path: string) => boolean, own?: { execPath: string, version: string } }} [o]
 */
export function substituteMissingNode(spec, { exists = existsSync, own = process } = {}) {
  if (spec.kind !== 'node' || spec.interpreterGiven !== null || exists(spec.file)) return spec;
  return { ...spec, file: own.execPath, interpreter: own.execPath, nodeVersion: own.version };
}
