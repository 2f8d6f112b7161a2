import { isRecord } from '../shared/is-record.js';
import { escapeControls, jsonLine, toOneLine } from './text.js';

/** @import { NclustError } from '../shared/errors.js' */
/** @import { NotUp } from '../shared/wire/protocol.js' */
/** @import { Paint } from './paint.js' */

/**
 * @param {NclustError} error
 * @param {Paint} paint
 */
export function renderFailure(error, paint) {
  const { slots = [], lastLines = [] } = isRecord(error.data)
    ? /** @type {{ slots?: NotUp[], lastLines?: string[] }} */ (error.data)
    : {};
  const parts = [
    `${paint('red', 'nclust:')} ${escapeControls(error.message)}`,
    ...quote(lastLines, paint),
    ...slots.flatMap((slot) => [
      `  ${toOneLine(slot.name)}, instance ${slot.slot} (id ${slot.id}): ${toOneLine(slot.reason)}`,
      ...quote(slot.lastLines, paint),
    ]),
    ...(error.hint ? [`${paint('cyan', 'next:')} ${escapeControls(error.hint)}`] : []),
    ...(error.code === 'ERR_NCLUST_INTERNAL' && error.cause instanceof Error && error.cause.stack
      ? [paint('dim', escapeControls(error.cause.stack))]
      : []),
  ];
  return `${parts.join('\n')}\n`;
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
