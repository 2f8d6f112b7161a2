import { basename } from 'node:path';
import { isLauncher, isNode, isWithoutChannel, programName, takesChannel } from '../shared/daemon/programs.js';
import { formatDuration } from '../shared/units.js';

/** @import { AppSpec } from './types.js' */

/** @typedef {Pick<AppSpec, 'kind' | 'file' | 'script' | 'execArgs'>} Program */

/**
 * Whether nclust gives the process that it starts an IPC channel.
 * @param {Program} spec
 */
export function hasChannel({ kind, file }) {
  return kind === 'node' || !isWithoutChannel(file);
}

/**
 * @param {AppSpec} spec
 * @returns {AppSpec}  For a process without an IPC channel: nothing waits for its messages.
 */
export function withoutChannel(spec) {
  const { kind, script, args, interpreterArgs, execArgs } = spec;
  return {
    ...spec,
    kind: 'exec',
    mode: 'fork',
    execArgs: kind === 'node' ? [...interpreterArgs, script, ...args] : execArgs,
    waitReady: false,
    shutdownWithMessage: false,
  };
}

/**
 * Whether the app can use process.send(), by the names of its programs.
 * @param {Program} spec
 */
export function canUseChannel(spec) {
  const program = userOfChannel(spec);
  return hasChannel(spec) && !isWithoutChannel(program) && !takesChannel(program);
}

/**
 * @param {AppSpec} spec
 * @returns {string[]}  For validate and start.
 */
export function warnAboutChannel(spec) {
  const { name, waitReady, shutdownWithMessage } = spec;
  if (canUseChannel(spec)) return warnAboutSticky(spec);
  const program = `"${programName(userOfChannel(spec))}" passes no messages on`;
  return [
    ...warnAboutSticky(spec),
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
 * An app of another user cannot send its connections to the manager (docs/balancing.md).
 * @param {AppSpec} spec
 * @returns {string[]}
 */
function warnAboutSticky({ name, mode, scheduling, uid }) {
  const isOfOther = uid !== null && uid !== process.geteuid?.();
  if (mode !== 'cluster' || scheduling !== 'sticky' || !isOfOther) return [];
  return [
    `"${name}" has scheduling sticky, but it runs as another user, so its workers cannot pass connections on. The ` +
      'first worker that accepts a connection keeps it. Remove uid, or give each instance its own port.',
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
 * Whether a program that is not started as Node.js starts the app with Node.js.
 * @param {Program} spec
 */
export function mayStartNode(spec) {
  return spec.kind === 'exec' && listPrograms(spec).some((name) => isNode(name) || isLauncher(name));
}

/**
 * Returns the last program, because earlier ones only prepare.
 * @param {Program} spec
 */
function userOfChannel(spec) {
  return spec.kind === 'node' ? spec.script : (listPrograms(spec).at(-1) ?? '');
}

/**
 * Returns the first program of each pipeline, because only there the channel is meant for the app.
 * @param {Program} spec
 */
function listPrograms({ file, script, execArgs }) {
  if (/sh$/.test(basename(file)) && /^-\w*c$/.test(execArgs[0]) && execArgs.length > 1)
    return listOfCommand(execArgs[1]);
  const program = findProgram([file, ...execArgs]);
  return [program === file && !isNode(file) && !isLauncher(file) ? script : program];
}

/** Programs that start the program in their arguments. */
const PREFIX = /^(exec|env|nohup|time|timeout|nice|ionice|setsid|stdbuf)$/;
/** An option, a variable, a number, a duration or the name of a signal. */
const OF_PREFIX = /^-|=|^[\d.]+[smhd]?$|^[A-Z][A-Z\d]+$/;
const REDIRECTION = /(\d*|&)[<>]{1,3}(&\s*[\d-]+|&?\s*[^\s;&|<>]+)/g;

/** @param {string} command */
function listOfCommand(command) {
  return command
    .replace(/(?<=^|[\s;&|/])(ba|da|k|z)?sh\s+-\w*c\s+("[^"]*"|'[^']*')/g, (_, _shell, inner) => inner.slice(1, -1))
    .replace(/"[^"]*"|'[^']*'/g, (quoted) => quoted.slice(1, -1).replace(/[\s;&|<>]/g, '_'))
    .replace(REDIRECTION, ' ')
    .split(/;|&&|\|\||&|\n/)
    .map((pipeline) => findProgram(pipeline.split('|')[0].trim().split(/\s+/)))
    .filter((name) => name !== '');
}

/** @param {string[]} words */
function findProgram(words) {
  return words.find((word) => !PREFIX.test(basename(word)) && !OF_PREFIX.test(word)) ?? '';
}
