import { stripVTControlCharacters } from 'node:util';
import { HOSTILE } from '../daemon/json-line.js';
import { parseRecord, readRecordLevel } from './level.js';

/**
 * @typedef {object} ErrorLine
 * @property {string} line  Like `TypeError: no rows`.
 * @property {string | null} frame  Like `render (report.js:31)`. Null: no frame of the app.
 */

/**
 * @typedef {object} Block  An error in the output.
 * @property {string} line
 * @property {Kind} kind
 * @property {boolean} isFatal  It has a stack trace, or ended the program.
 * @property {boolean} hasFrames
 * @property {boolean} isOver  The next lines do not belong to it.
 * @property {Place[]} places  Its frames outside of packages and of the runtime.
 * @property {Place[]} others  Used without `places`: frames of an outer error, or the source.
 */

/** @typedef {{ path: string, row: string, name?: string }} Place */
/** @typedef {'plain' | 'python' | 'go'} Kind */

/** Limit for a line that is not a JSON record, because patterns take long for long lines. */
const READ_MAX_CHARS = 1_000;
const LINE_MAX_CHARS = 300;
const FRAME_MAX_CHARS = 120;

/** `TypeError: no`, `Error [ERR_X]: no`, `java.lang.IllegalStateException`. */
const NAMED = /(?:^|[^\w.$])(?:[\w$]+\.)*[\w$]*(?:Error|Exception|Rejection)(?: \[\w+\])?(?::(?= )|\]? ?\{?$)/;
/** Of Go, of V8, and of PHP. */
const FATAL = /^(?:panic|(?:PHP )?fatal error): /i;
/** The level of a logger, after a time or not. */
const LEVELLED = /^[\s\d[\]TZ:.,/+-]*\b(?:(?:ERROR|FATAL|CRITICAL)\b|(?:[Ee]rror|[Ff]atal|[Cc]ritical)[:\]])/;
/** Of shells. */
const REFUSED =
  /: (?:(?:command )?not found|permission denied|no such file or directory)$|exec format error|segmentation fault/i;

const NODE_FRAME = /^\s+at (?:(.+) \()?(?:file:\/\/)?([^()]+?):(\d+):\d+\)?,?(?: \{)?$/;
const JAVA_FRAME = /^\s+at (?:[\w.@-]+\/)?([\w.$]+\.[\w$<>]+)\(([\w$]+\.\w+):(\d+)\)/;
const PYTHON_FRAME = /^ {2}File "(.+)", line (\d+)(?:, in (.+))?$/;
const GO_FRAME = /^\t(\S+\.go):(\d+)/;
const RUBY_FRAME = /^\s+from (.+\.rb):(\d+):in ['`](.*)'$/;

const RUST = /^thread '.*' (?:\(\d+\) )?panicked at (?:'(.*)', )?(\S+?):(\d+):\d+:?$/;
const RUBY = /^(.+\.rb):(\d+):in ['`](.*?)': (.* \([\w:]+\))$/;
const THREAD = /^Exception in thread ".*?" /;
const CAUSE = /^Caused by: /;

/** The first line of a fatal error of Node.js, which has the source and a caret below. */
const LOCATION = /^(?:file:\/\/)?(\S.*):(\d+)$/;

const PACKAGES =
  /^node:|^internal\/|\/node_modules\/|\/daemon\/agent\/|\/(?:site|dist)-packages\/|\/lib\/(?:python|ruby)[\d/]|^</;
const GO_PACKAGES = /\/(?:usr\/local\/go|usr\/lib\/go[^/]*|go\d[\d.]*)\/src\/|\/pkg\/mod\//;
const JAVA_PACKAGES = /^(?:java|javax|jdk|sun|com\.sun)\./;

/** Lines that do not give a reason. */
const NOISE =
  /^\s*(?:at |\^+$|Node\.js v\d|$|[{}\]]|node:|\(node:|\(Use `node|npm (?:ERR!|error)|exit status |note: run)/;

/**
 * Finds the line that gives the reason of a death: the last error with a stack trace, else the last
 * line that looks like an error, else the last line.
 * @param {string[]} lines  Of stderr, oldest first.
 * @param {string | null} [cwd]  The folder of the app. Its paths become relative.
 * @returns {ErrorLine | null}
 */
export function findErrorLine(lines, cwd = null) {
  const plain = lines.map((line) =>
    stripVTControlCharacters(line.startsWith('{') ? line : line.slice(0, READ_MAX_CHARS)),
  );
  const blocks = readBlocks(plain);
  const found = blocks.findLast(({ isFatal }) => isFatal) ?? blocks.at(-1);
  if (!found) {
    const last = plain.findLast((line) => !NOISE.test(line));
    return last === undefined ? null : { line: toText(last, LINE_MAX_CHARS), frame: null };
  }
  const places = found.places.length > 0 ? found.places : found.others;
  const place = found.kind === 'python' ? places.at(-1) : places[0];
  return { line: toText(found.line, LINE_MAX_CHARS), frame: place ? formatFrame(place, cwd) : null };
}

/** @param {string[]} lines */
function readBlocks(lines) {
  /** @type {Block[]} */
  const blocks = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const last = blocks.at(-1);
    const open = last?.isOver ? undefined : last;
    const thrown = findThrown(lines, at);
    const begun = thrown?.block ?? readRecord(line) ?? readPanic(lines, at);
    if (begun) blocks.push(begun);
    at = thrown?.at ?? at;
    if (begun || (open && extend(open, line, lines[at - 1]))) continue;
    const frame = readFrame(line, '');
    if (isHead(line)) blocks.push(newBlock(line));
    else if (frame?.kind === 'python') blocks.push(newBlock('', { kind: 'python', places: frame.places }));
    else if (open?.hasFrames && /^[^\s}]/.test(line) && !line.startsWith('Emitted ')) open.isOver = true;
  }
  return blocks.filter(({ line }) => line !== '');
}

/**
 * @param {string} line
 * @param {Partial<Block>} [more]
 * @returns {Block}
 */
function newBlock(line, more) {
  const isNot = { isFatal: false, hasFrames: false, isOver: false };
  return { line: trimHead(line), kind: 'plain', ...isNot, places: [], others: [], ...more };
}

/**
 * Adds a line to the error above it.
 * @param {Block} block
 * @param {string} line
 * @param {string} before
 * @returns {boolean}  False: the line is not a part of the error.
 */
function extend(block, line, before) {
  const frame = readFrame(line, before);
  if (frame) {
    block.hasFrames = true;
    block.isFatal ||= block.kind !== 'python';
    block.places.push(...frame.places);
  } else if (CAUSE.test(line)) {
    Object.assign(block, { line: line.replace(CAUSE, ''), others: [...block.places, ...block.others], places: [] });
  } else if (block.kind === 'python' && !block.isFatal) {
    if (/^\S/.test(line)) Object.assign(block, { line, isFatal: true });
  } else if (/^\s*\[cause\]: /.test(line) && /^\w*(?:Error|Exception)$/.test(block.line)) block.line = trimHead(line);
  else if (block.line.endsWith(':') && !block.hasFrames && /\S/.test(line)) block.line += ` ${line.trim()}`;
  else return block.kind === 'go';
  return true;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @returns {Block | null}  Null: not the beginning of an error of Python, Go, V8, PHP, Rust or Ruby.
 */
function readPanic(lines, at) {
  const line = lines[at];
  if (line.startsWith('Traceback (most recent call last)')) return newBlock('', { kind: 'python' });
  if (FATAL.test(line)) return newBlock(line, { kind: 'go', isFatal: true });
  const rust = RUST.exec(line);
  if (rust)
    return newBlock(rust[1] ?? lines[at + 1] ?? line, {
      isFatal: true,
      isOver: true,
      places: keepOwn(rust[2], rust[3]),
    });
  const ruby = RUBY.exec(line);
  return ruby && newBlock(ruby[4], { isFatal: true, places: keepOwn(ruby[1], ruby[2], ruby[3]) });
}

/** @param {string} line */
function isHead(line) {
  if (/^\s|^\(node:|^npm /.test(line)) return false;
  return NAMED.test(line) || LEVELLED.test(line) || REFUSED.test(line);
}

/**
 * Removes what Node.js prints around an error.
 * @param {string} line
 */
function trimHead(line) {
  const text = line
    .replace(/^\s*\[cause\]: /, '')
    .replace(THREAD, '')
    .replace(/^\[(.*)\](?: \{)?$/, '$1')
    .replace(/ \{$/, '');
  return text.replace(/^(UnhandledPromiseRejection: ).* with the reason "(.*)"\.$/, '$1$2');
}

/**
 * Node.js prints the place, the source, a caret, and then what was thrown, which may be any value.
 * @param {string[]} lines
 * @param {number} at  Of the caret.
 * @returns {{ at: number, block: Block } | null}
 */
function findThrown(lines, at) {
  const location = /^\s*\^+\s*$/.test(lines[at]) && LOCATION.exec(lines[at - 2] ?? '');
  const next = location ? lines.findIndex((line, index) => index > at && line.trim() !== '') : -1;
  if (!location || next === -1) return null;
  return { at: next, block: newBlock(lines[next], { isFatal: true, others: keepOwn(location[1], location[2]) }) };
}

/**
 * @param {string} line
 * @returns {Block | null}  Null: not an error record of a logger.
 */
function readRecord(line) {
  const record = /** @type {Record<string, any> | null} */ (parseRecord(line));
  const level = record && readRecordLevel(record);
  if (!record || (level !== 'error' && level !== 'fatal')) return null;
  const error = [record.err, record.error, record].find((one) => typeof one?.stack === 'string');
  const message = String(record.msg ?? record.message ?? '');
  const cause = String(error?.message ?? record.err?.message ?? '');
  const type = error?.type ?? error?.name;
  const reason = cause === '' || cause === message ? '' : `${typeof type === 'string' ? `${type}: ` : ''}${cause}`;
  const places = String(error?.stack ?? '')
    .split('\n')
    .flatMap((one) => readFrame(one, '')?.places ?? []);
  const text = [message, reason].filter((part) => part !== '').join(': ');
  return newBlock(text, { places, isFatal: level === 'fatal' || error !== undefined, isOver: true });
}

/**
 * @param {string} line
 * @param {string} before  The line before, which in Go has the name of the function.
 * @returns {{ kind: Kind, places: Place[] } | null}  Null: not a frame.
 */
function readFrame(line, before) {
  const java = JAVA_FRAME.exec(line);
  if (java) {
    const name = java[1].split('.').slice(-2).join('.');
    return { kind: 'plain', places: JAVA_PACKAGES.test(java[1]) ? [] : [{ path: java[2], row: java[3], name }] };
  }
  const node = NODE_FRAME.exec(line);
  if (node) return { kind: 'plain', places: keepOwn(node[2], node[3], node[1]) };
  if (/^\s+at \S/.test(line)) return { kind: 'plain', places: [] };
  const python = PYTHON_FRAME.exec(line);
  if (python) return { kind: 'python', places: keepOwn(python[1], python[2], python[3]) };
  const ruby = RUBY_FRAME.exec(line);
  if (ruby) return { kind: 'plain', places: keepOwn(ruby[1], ruby[2], ruby[3]) };
  const go = GO_FRAME.exec(line);
  if (!go) return null;
  const call = before.replace(/\([^()]*\)$/, '');
  const isOwn = !GO_PACKAGES.test(go[1]) && !/^(?:runtime\.|panic$)/.test(call);
  return { kind: 'go', places: isOwn ? [{ path: go[1], row: go[2], name: call.replace(/^.*\/|^main\./g, '') }] : [] };
}

/**
 * @param {string} path
 * @param {string} row
 * @param {string} [name]
 * @returns {Place[]}
 */
function keepOwn(path, row, name) {
  const own = path.replace(/^(?:async )?file:\/\/|^async /, '');
  return PACKAGES.test(own) || own === 'native' ? [] : [{ path: own, row, name }];
}

/**
 * @param {Place} place
 * @param {string | null} cwd
 */
function formatFrame({ path, row, name = '' }, cwd) {
  const isBelow = cwd !== null && path.startsWith(`${cwd}/`);
  const file = isBelow ? path.slice(cwd.length + 1) : path.split('/').slice(-2).join('/');
  const called = name.replace(/^(?:async |new )+|^Object\.(?=\w)| \[as .*\]$/g, '');
  const place = `${file}:${row}`;
  return toText(/^$|<(?:anonymous|module|main)>$/.test(called) ? place : `${called} (${place})`, FRAME_MAX_CHARS);
}

/**
 * @param {string} text
 * @param {number} max
 */
function toText(text, max) {
  return text.trim().replace(/\t/g, ' ').replace(HOSTILE, '?').slice(0, max);
}
