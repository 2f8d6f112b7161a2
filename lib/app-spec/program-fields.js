import { flag, instances, isFigure, isFilled, isText, oneOf, path, text, word, words } from './kinds.js';
import { reader } from './values.js';
import { option, REQUIRED, row, setting } from './row.js';

/** @import { GivenKind, Kind } from './kinds.js' */
/** @import { FieldRow } from './table.js' */

const NAME_RULE = { accepts: isName, stored: 'a text of 1 to 100 characters on one line, and not "all"' };

const ABSOLUTE = { accepts: isAbsolute, stored: 'an absolute path' };

/** @type {Kind} */
const SCRIPT = { ...path, accepts: isFilled, stored: 'a path or a shell command' };

/** @type {Kind} */
const MODE = {
  ...oneOf(['cluster', 'fork']),
  ...reader('fork or cluster', (value) => /^(cluster|fork)(?:_mode)?$/.exec(isText(value) ? value : '')?.[1]),
  schema: { enum: ['fork', 'fork_mode', 'cluster', 'cluster_mode'] },
};

/** @type {GivenKind} */
const PORT = {
  ...reader('a number from 0 to 65535, or the path of a Unix socket', asPort),
  schema: { type: ['integer', 'string'] },
};

/** @type {Kind} */
const NAME = { ...word, ...NAME_RULE };

/** @type {Kind} */
const NAMESPACE = { ...text, ...NAME_RULE };

/** @type {Kind} */
const FOLDER = { ...path, ...ABSOLUTE };

/** @type {Kind} */
const INTERPRETER = {
  ...path,
  accepts: (value) => value === 'none' || isAbsolute(value),
  stored: 'an absolute path or "none"',
};

/** The program of an app, and how it runs. @type {FieldRow[]} */
export const PROGRAM = [
  row('script', SCRIPT, REQUIRED, {
    aliases: ['exec', 'cmd', 'command'],
    isBuilt: true,
    needs: 'rollout',
    help: 'a file, a folder with index.js, a program in PATH, or a shell command (with a space)',
    note: 'Absolute path, or the shell command as the user wrote it.',
  }),
  row('args', words, [], {
    isBuilt: true,
    needs: 'rollout',
    isPrivate: true,
    isPm2: true,
    help: 'arguments for the app; a text is split as in a shell',
  }),
  row('exec_mode', MODE, 'fork', {
    field: 'mode',
    isBuilt: true,
    defaultText: 'cluster for Node.js with "instances", else fork',
    needs: 'replace',
    help: 'instances share their ports (cluster) or are independent (fork)',
    note: 'cluster only for kind node.',
  }),
  setting('port', PORT, {
    defaultText: 'none',
    isPm2: true,
    help: 'the variable PORT',
  }),
  row('username', text, '', {
    field: 'user',
    isBuilt: true,
    isDerived: true,
    defaultText: 'the user of the process',
    needs: 'nothing',
    help: 'user name that lists show',
  }),
  setting('append_env_to_name', flag, {
    defaultText: 'false',
    help: 'with --env production, call the app <name>-production',
  }),
  row('name', NAME, REQUIRED, {
    flags: '-n, --name <name>',
    defaultText: 'the script without its extension',
    needs: 'nothing',
    help: 'name of the app',
  }),
  row('namespace', NAMESPACE, 'default', {
    flags: '--namespace <name>',
    defaultText: '"default"',
    needs: 'nothing',
    isPm2: true,
    group: 'The program:',
    help: 'group of the app',
  }),
  row('instances', instances, 1, {
    flags: '-i, --instances <number>',
    empty: 'max', // As in PM2.
    needs: 'scale',
    isForNew: true,
    isPublic: true,
    help:
      'processes to run: N, max or 0 (one per CPU), -N (CPUs less N), N%; Node.js programs then run in ' +
      'cluster mode (default: 1)',
    meaning: 'processes to run; Node.js programs then run in cluster mode',
    note: 'Integer from 1, "max", 0 (= max), "-N" or "N%".',
  }),
  row('cwd', FOLDER, REQUIRED, {
    flags: '--cwd <folder>',
    isBuilt: true,
    defaultText: 'the folder of the file',
    needs: 'rollout',
    help: 'working directory (default: the current one)',
  }),
  row('interpreter', INTERPRETER, 'none', {
    aliases: ['exec_interpreter'],
    flags: '--interpreter <program>',
    isBuilt: true,
    defaultText: 'by extension or first line',
    needs: 'rollout',
    help: 'program that runs the script; "none": the script itself',
  }),
  row('node_args', words, [], {
    aliases: ['interpreter_args'],
    flags: '--interpreter-args <words>',
    field: 'interpreterArgs',
    isBuilt: true,
    needs: 'rollout',
    isPm2: true,
    group: 'The program:',
    help: 'options for the interpreter, in one quoted argument',
    meaning: 'options for the interpreter; a text is split as in a shell',
  }),
  option('--node-args <words>', null, words, { help: 'the same as --interpreter-args' }),
];

/** @param {unknown} value */
function asPort(value) {
  const typed = isFigure(value) ? String(value).trim() : '';
  const isPort = /^\d+$/.test(typed) ? Number(typed) <= 65_535 : typed.includes('/');
  return isPort ? typed : undefined;
}

/** @param {unknown} value */
function isAbsolute(value) {
  return isText(value) && value.startsWith('/');
}

/** @param {unknown} value */
function isName(value) {
  return isFilled(value) && value.length <= 100 && !/[\u0000-\u001f\u007f]/.test(value) && value !== 'all';
}
