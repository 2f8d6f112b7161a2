import { formattedRecord, jsonRecord } from '../render/log-record.js';
import { formatTime, TIMESTAMP_FORMAT } from '../render/log-time.js';

/** @typedef {import('../shared/wire/output-frame.js').FrameHead} FrameHead */
/** @typedef {import('../shared/wire/protocol.js').LogEntry} LogEntry */
/** Makes whole lines of one process what is shown of them. @typedef {(head: FrameHead, lines: Buffer) => Buffer} Shape */

/**
 * @param {{json?: boolean, format?: boolean, formatted?: boolean}} options  None of them: the bytes as they are.
 * @returns {Shape}
 */
export function shapeOf({ json, format, formatted }) {
  if (json) return byLine(jsonRecord);
  if (format) return byLine((entry) => formattedRecord(entry));
  if (formatted) return byLine(({ atMs, name, line }) => `${formatTime(atMs, TIMESTAMP_FORMAT)} ${name} ${line}`);
  return (_head, lines) => lines;
}

/**
 * @param {(entry: LogEntry) => string} textOf
 * @returns {Shape}
 */
function byLine(textOf) {
  return ({ id, name, stream, atMs }, lines) => {
    const texts = lines.toString('utf8').replace(/\n$/, '').split('\n');
    return Buffer.from(texts.map((line) => `${textOf({ id, name, stream, atMs, line: line.endsWith('\r') ? line.slice(0, -1) : line })}\n`).join(''));
  };
}
