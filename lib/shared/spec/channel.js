import { basename } from 'node:path';
import { formatDuration } from '../units.js';

/** @import { AppSpec } from './spec.js' */

/** @typedef {Pick<AppSpec, 'kind' | 'file' | 'script' | 'execArgs'>} Program */

const wordSet = (/** @type {string} */ words) => new Set(words.split(/\s+/));

/** Programs that do not know process.send(), without their version. */
const OTHER_LANGUAGES = wordSet(
  `python pypy ruby perl php php-fpm lua java dotnet julia Rscript gunicorn uvicorn celery flask puma rails bundle`,
);
/** Node.js programs that take the channel for themselves, and start the app without it. */
const TAKERS = wordSet(
  `npm npm-cli npx npx-cli yarn yarnpkg pnpm pnpx corepack cross-env cross-env-shell dotenv env-cmd concurrently`,
);
const NODE_TOOLS = wordSet('node nodejs tsx ts-node babel-node nodemon env');

/**
 * Whether nclust gives the process that it starts an IPC channel.
 * @param {Program} spec
 */
export function hasChannel({ kind, file }) {
  return kind === 'node' || !OTHER_LANGUAGES.has(nameOf(file));
}

/**
 * Whether the app can use process.send(), by the names of its programs.
 * @param {Program} spec
 */
export function canUseChannel(spec) {
  const name = nameOf(isShellCommand(spec) ? lastProgram(spec.execArgs[1]) : spec.script);
  return hasChannel(spec) && !OTHER_LANGUAGES.has(name) && !TAKERS.has(name);
}

/**
 * @param {AppSpec} spec
 * @returns {string[]}  For validate and start.
 */
export function warnAboutChannel(spec) {
  const { name, script, waitReady, shutdownWithMessage } = spec;
  if (canUseChannel(spec)) return [];
  const program = `"${nameOf(script)}" passes no messages on`;
  return [
    ...(waitReady
      ? [
          `"${name}" has wait_ready, but ${program}. An instance counts as online after its listen_timeout ` +
            `(${formatDuration(spec.listenTimeoutMs)}) if it listens, and fails if it does not. Remove wait_ready.`,
        ]
      : []),
    ...(shutdownWithMessage
      ? [`"${name}" has shutdown_with_message, but ${program}. The app gets the stop signal instead.`]
      : []),
  ];
}

/**
 * A notice for an app that is online without the message `ready`.
 * @param {AppSpec} spec
 */
export function describeLackingReady(spec) {
  const advice = canUseChannel(spec) ? "Call process.send('ready') when it is ready, or remove" : 'Remove';
  return (
    `"${spec.name}" has wait_ready, but has never sent "ready". So an instance counts as online only after its ` +
    `listen_timeout (${formatDuration(spec.listenTimeoutMs)}). ${advice} wait_ready.`
  );
}

/**
 * Whether a program that is not started as Node.js may start the app with Node.js.
 * @param {Program} spec
 */
export function mayStartNode(spec) {
  return spec.kind === 'exec' && (isShellCommand(spec) || NODE_TOOLS.has(basename(spec.file)));
}

/**
 * @param {string} path
 * @returns {string}  Without a version and an extension of JavaScript.
 */
function nameOf(path) {
  return basename(path).replace(/[\d.]+$|\.[cm]?js$/, '');
}

/** @param {Program} spec */
function isShellCommand({ kind, file, execArgs }) {
  return kind === 'exec' && /sh$/.test(basename(file)) && execArgs[0] === '-c' && execArgs.length > 1;
}

/**
 * Returns the name of the last program of a shell command, because earlier ones only prepare.
 * @param {string} command
 */
function lastProgram(command) {
  const words = (
    command
      .trim()
      .split(/[;&|]+/)
      .findLast((part) => part.trim() !== '') ?? ''
  )
    .trim()
    .split(/\s+/);
  return words.find((word) => !/=|^(exec|env|nohup|time)$/.test(word)) ?? '';
}
