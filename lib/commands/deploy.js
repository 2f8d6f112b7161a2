import { hostname } from 'node:os';
import { basename, dirname, isAbsolute } from 'node:path';
import { PassThrough } from 'node:stream';
import { describeConfig } from '../config/file/read.js';
import { isConfigName } from '../config/find.js';
import { checkRef, readDeployment } from '../deploy/deployment.js';
import { execute, list, revert, setUp, show, unlock, update } from '../deploy/steps.js';
import { toSafeLine } from '../render/log-lines.js';
import { jsonLine, toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { shellQuote } from '../shared/shell-quote.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Deployment } from '../deploy/deployment.js' */
/** @import { Surroundings } from '../deploy/steps.js' */
/** @import { View } from '../render/list.js' */

/**
 * @param {Context} context
 * @param {string[]} words  [file] environment [command [words...]]
 * @param {Record<string, any>} options
 * @returns {AsyncGenerator<HostLine, void, void>}
 */
export async function* deploy(context, words, { parallel: isParallel = false }) {
  const [first = '', ...rest] = words;
  const given = isConfigName(first) || /\.[cm]?[jt]s$/.test(first) ? first : null;
  const [name, command, ...more] = given === null ? words : rest;
  if (name === undefined)
    throw new NclustError('ERR_NCLUST_USAGE', 'deploy needs an environment.', {
      hint: 'For example: nclust deploy production setup',
    });
  const { cwd, env, printMessage, show } = context;
  const config = await describeConfig(context, { file: given });
  const shown = given ?? basename(config.file ?? '');
  const { deployment, warnings } = readDeployment(config.deploy, name, {
    file: shown,
    postDeploy: `nclust startOrReload ${shellQuote(onHost(shown))} --env ${shellQuote(name)}`,
  });
  for (const warning of warnings) printMessage(warning);

  const isLabelled = deployment.hosts.length > 1;
  const lines = new PassThrough({ objectMode: true });
  const interrupted = new AbortController();
  // The first Ctrl-C ends the deployment and unlocks the hosts. A second Ctrl-C ends the command at
  // once.
  const leaveSignals = context.onInterrupt(() => {
    leaveSignals();
    interrupted.abort();
  });
  /** @type {Surroundings} */
  const around = {
    folder: dirname(config.file ?? cwd),
    env,
    isParallel,
    nowMs: Date.now(),
    who: `${env.USER ?? 'somebody'}@${hostname()}`,
    signal: interrupted.signal,
    printMessage,
    onLine: (host, { stream, text }) => {
      if (stream === 'out') lines.write({ host, isLabelled, text });
      else show(`${isLabelled ? `[${toOneLine(host)}] ` : ''}${toSafeLine(text)}`);
    },
  };
  const work = perform(deployment, around, command, more).finally(() => {
    leaveSignals();
    lines.end();
  });
  // Avoids an unhandled rejection, because `work` is awaited only after the last line.
  work.catch(() => {});
  yield* lines;
  await work;
}

/**
 * @param {Deployment} deployment
 * @param {Surroundings} around
 * @param {string | undefined} command
 * @param {string[]} words
 */
async function perform(deployment, around, command = 'update', words) {
  if (command === 'exec' || command === 'run') return execute(deployment, around, asCommand(command, words));
  if (command === 'revert') return revert(deployment, around, asCount(words));
  if (words.length > 0)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      `deploy "${command}" takes no more words, but was given ` +
        `${words.map((word) => JSON.stringify(word)).join(' ')}.`,
      { hint: 'nclust help deploy' },
    );
  const back = BACK.get(command);
  if (back !== undefined) return show(deployment, around, back);
  if (command === 'setup') return setUp(deployment, around);
  if (command === 'list') return list(deployment, around);
  if (command === 'unlock') return unlock(deployment, around);
  return update(deployment, around, command === 'update' ? deployment.ref : checkRef(command));
}

/** Words for a release, as steps back from the current one. */
const BACK = new Map([
  ['curr', 0],
  ['current', 0],
  ['prev', 1],
  ['previous', 1],
]);

/**
 * @param {string} command
 * @param {string[]} words
 */
function asCommand(command, words) {
  if (words.length > 0) return words.join(' ');
  throw new NclustError('ERR_NCLUST_USAGE', `deploy ${command} needs a command to run.`, {
    hint: `For example: nclust deploy production ${command} "nclust list"`,
  });
}

/** @param {string[]} words */
function asCount([word = '1', ...more]) {
  if (/^[1-9]\d{0,3}$/.test(word) && more.length === 0) return Number(word);
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `deploy revert was given ${[word, ...more].map((one) => JSON.stringify(one)).join(' ')}; accepted: the ` +
      `number of releases to go back, 1 or more.`,
  );
}

/** @param {string} file */
function onHost(file) {
  return isAbsolute(file) || file.startsWith('..') ? basename(file) : file;
}

/**
 * @typedef {{ host: string, isLabelled: boolean, text: string }} HostLine  Also of a local hook.
 */

/**
 * @param {HostLine} line
 * @param {View} view
 */
export function renderDeployLine({ host, isLabelled, text }, { options, isTerminal }) {
  if (options.json) return `${jsonLine({ host, text })}\n`;
  const line = isTerminal ? toSafeLine(text) : text;
  return isLabelled ? `[${toOneLine(host)}] ${line}\n` : `${line}\n`;
}
