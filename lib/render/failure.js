import { formatCount } from '../figures/format.js';
import { quoteErrorLine } from '../shared/death-text.js';
import { isRecord } from '../shared/is-record.js';
import { escapeControls, jsonLine, padEnd, textWidth, toOneLine } from './text.js';

/** @import { NclustError } from '../shared/errors.js' */
/** @import { FailedApp, NotUp } from '../shared/wire/protocol.js' */
/** @import { Paint } from './paint.js' */

/**
 * @typedef {object} FailureData
 * @property {NotUp[]} [slots]
 * @property {string[]} [lastLines]
 * @property {FailedApp[]} [apps]
 * @property {{ name: string, instances: number }[]} [done]  The other apps of the request.
 */

/**
 * @param {NclustError} error
 * @param {Paint} paint
 */
export function renderFailure(error, paint) {
  const data = /** @type {FailureData} */ (isRecord(error.data) ? error.data : {});
  const { slots = [], lastLines = [], apps = [], done = [] } = data;
  const isOfSeveral = Array.isArray(apps) && apps.length + done.length > 1;
  const parts = [
    `${paint('red', 'nclust:')} ${escapeControls(isOfSeveral ? summarise(apps, done) : error.message)}`,
    ...quote(lastLines, paint),
    ...(isOfSeveral
      ? appLines(data, paint)
      : slots.flatMap((slot, at) => [
          `  ${toOneLine(slot.name)}, instance ${slot.slot} (id ${slot.id}): ${toOneLine(slot.reason)}`,
          // Quotes each error once, because instances often fail for the same reason.
          ...(slot.words && slots.findIndex(({ words }) => words === slot.words) < at
            ? []
            : quote(slot.lastLines, paint)),
        ])),
    ...(error.hint ? [`${paint('cyan', 'next:')} ${escapeControls(error.hint)}`] : []),
    ...(error.code === 'ERR_NCLUST_INTERNAL' && error.cause instanceof Error && error.cause.stack
      ? [paint('dim', escapeControls(error.cause.stack))]
      : []),
  ];
  return `${parts.join('\n')}\n`;
}

/**
 * @param {FailedApp[]} apps
 * @param {object[]} done
 */
function summarise(apps, done) {
  return `${apps.length} of ${formatCount(apps.length + done.length, 'app')} failed.`;
}

/**
 * One line for each app, the failed apps last.
 * @param {FailureData} data
 * @param {Paint} paint
 */
function appLines({ slots = [], apps = [], done = [] }, paint) {
  const width = Math.max(...[...done, ...apps].map(({ name }) => textWidth(toOneLine(name))));
  const label = (/** @type {string} */ name) => padEnd(toOneLine(name), width);
  return [
    ...done.map(
      ({ name, instances }) => `  ${label(name)}  ${paint('green', 'done')}, ${formatCount(instances, 'instance')}`,
    ),
    ...apps.map((app) => {
      const slot = slots.find(({ name }) => name === app.name);
      const why = slot ? `instance ${slot.slot} ${slot.reason}${quoteErrorLine(slot)}` : app.message.replace(/\.$/, '');
      return `  ${label(app.name)}  ${paint('red', 'failed')}: ${toOneLine(why)}; ${describeServing(app)}`;
    }),
  ];
}

/** @param {FailedApp} app */
function describeServing({ running, instances, isOld }) {
  if (running.length === 0) return 'no instance serves';
  const numbers = [...new Set(running.map(({ generation }) => generation))].join(', ');
  if (isOld)
    return `the old instance${running.length === 1 ? ' still serves' : 's still serve'}: generation ${numbers}`;
  const verb = running.length === 1 ? 'serves' : 'serve';
  return `${running.length} of ${formatCount(instances, 'instance')} ${verb}: generation ${numbers}`;
}

/** @param {NclustError} error */
export function failureJson({ code, message, hint, data, exitStatus }) {
  return `${jsonLine({ error: { code, message, hint, data, exitStatus } })}\n`;
}

/**
 * @param {string[]} lines
 * @param {Paint} paint
 */
function quote(lines, paint) {
  return lines.map((line) => `  ${paint('dim', '|')} ${toOneLine(line)}`);
}
