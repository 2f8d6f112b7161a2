import { OPTIONS_OF } from '../app-spec/table.js';
import { nearWords } from '../shared/did-you-mean.js';
import { NclustError } from '../shared/errors.js';
import { findCommand } from './table/commands.js';

/** @import { CommanderError } from 'commander' */
/** @import { Setting } from '../app-spec/table.js' */

const IMAGE =
  'PM2 makes a Docker image with it. Write a Dockerfile that ends with CMD ["nclust-runtime", "app.js"]: ' +
  'docs/containers.md';
const VENDOR = 'There is no vendor behind nclust: nothing leaves this machine.';

/**
 * Options of PM2 that nclust does not have, with their replacements.
 * @type {Record<string, string>}
 */
const OF_PM2 = {
  '--container': IMAGE,
  '--dist': IMAGE,
  '--image-name': IMAGE,
  '--node-version': IMAGE,
  '--dockerdaemon': IMAGE,
  '--fresh': IMAGE,
  '--daemon': IMAGE,
  '--secret': VENDOR,
  '--public': VENDOR,
  '--machine-name': VENDOR,
};

/**
 * Suggestions for an unknown command. They stop and overwrite nothing, because a tired user runs a
 * suggestion without reading it.
 */
const PROPOSED = [
  ...['start', 'list', 'jlist', 'describe', 'monit', 'web', 'logs', 'why', 'events', 'stack', 'profile', 'doctor'],
  ...['report', 'id', 'pid', 'env', 'ping', 'get', 'conf', 'diff', 'validate', 'init', 'attach', 'inspect', 'serve'],
  ...['startup', 'help', 'examples', 'completion'],
];

/**
 * @param {CommanderError} error
 * @param {string[]} argv
 */
export function usageError({ code, message }, argv) {
  const [first, meant = ''] = message.replace(/^error: /, '').split('\n');
  const sentence = first.replace(/\.$/, '');
  if (code === 'commander.unknownCommand') return unknownCommandError(/'(.*)'/.exec(sentence)?.[1] ?? '');
  const word = argv.find((one) => findCommand(one) !== undefined);
  const page = word === undefined ? 'nclust help' : `nclust help ${word}`;
  const flag = /'(-[^'=]+)/.exec(sentence)?.[1];
  const elsewhere =
    code === 'commander.unknownOption' && flag !== undefined
      ? (OF_PM2[flag] ?? hintForRefusedOption(flag, word))
      : null;
  const suggestion = meant.replace(/^\(|\)$/g, '');
  const hint = elsewhere ?? [suggestion, page].filter((part) => part !== '').join(' ');
  return new NclustError('ERR_NCLUST_USAGE', `${sentence}.`, { hint });
}

/** @param {string} word */
export function unknownCommandError(word) {
  return new NclustError('ERR_NCLUST_USAGE', `unknown command '${word}'.`, {
    hint: [suggest(word), 'nclust help'].filter((part) => part !== '').join(' '),
  });
}

/** @param {string} word */
function suggest(word) {
  const [near] = nearWords(word, PROPOSED);
  return near ? `Did you mean ${near}?` : '';
}

/**
 * PM2 accepts every option with every command. nclust refuses an option that would have no effect.
 * @param {string} flag  As typed.
 * @param {string | undefined} command
 */
function hintForRefusedOption(flag, command) {
  const is = (/** @type {Setting} */ { flags }) => flags?.split(/[ ,]+/).includes(flag) ?? false;
  if (
    !['restart', 'reload', 'startOrRestart', 'startOrReload', 'startOrGracefulReload', 'stop'].includes(command ?? '')
  )
    return null;
  if (['-i', '--instances'].includes(flag)) return 'To change the number of instances: nclust scale <app> <number>';
  if (OPTIONS_OF.reload.some(is)) return `It is an option of reload: nclust reload <app> ${flag} ...`;
  if (!OPTIONS_OF.start.some(is)) return null;
  return (
    `${flag} is an option of start. For an app in the list, change its config file and: nclust apply. ` +
    `Or delete the app and start it again.`
  );
}
