import { load, noText } from './row.js';

/** @import { Command } from './row.js' */

const logLines = async () => (await import('../../render/log-lines.js')).createLogRenderer();

/** @type {Command[]} */
export const LOGS = [
  {
    name: 'logs',
    aliases: ['log'],
    words: '[id|name|namespace|/pattern/...]',
    help: 'show log lines of apps, and follow new ones until Ctrl-C',
    options: [
      [
        '--lines <number>',
        'past lines of each file; with --grep or --level, of all files together (default: 15, or all with --since)',
      ],
      ['--follow', 'then show new lines, until Ctrl-C (default)'],
      ['--nostream', 'do not follow'],
      ['--out', 'only standard output'],
      ['--err', 'only standard error'],
      ['--grep <pattern>', 'only lines that match, as "text" or "/pattern/i"'],
      ['--level <level>', 'only JSON lines of this level or above: trace, debug, info, warn, error or fatal'],
      ['--since <time>', 'from this time on: 2h, 30m, 14:30, 2026-11-21, 2026-11-21T14:30:05Z or milliseconds'],
      ['--until <time>', 'up to this time, and do not follow'],
      ['--timestamp [format]', 'print the time before each line (default: YYYY-MM-DD-HH:mm:ss)'],
      ['--highlight [text]', 'mark a text (default: the matches of --grep)'],
      ['--raw', 'print the lines unchanged, with nothing before them'],
      ['--json', 'print one JSON record per line'],
      ['--format', 'print timestamp=... app=... id=... type=... message=... for each line'],
    ],
    examples: [
      'nclust logs api --lines 200',
      'nclust logs --err --nostream',
      'nclust logs api --since 2h --grep "/time.?out/i" --highlight',
      'nclust logs --level warn --timestamp HH:mm:ss',
      'nclust logs api --json | jq .message',
    ],
    load: load(() => import('../../commands/logs.js'), 'logs', logLines),
  },
  {
    name: 'flush',
    words: '[id|name|namespace|script|/pattern/|all...]',
    brief: 'empty log files and remove rotated ones',
    help: 'empty log files and remove rotated ones; without a target, those of all apps and of the manager',
    examples: ['nclust flush api', 'nclust flush'],
    load: load(
      () => import('../../commands/log-files.js'),
      'flush',
      'renderFlushed',
      ({ files }) => files,
    ),
  },
  {
    name: 'reloadLogs',
    brief: 'reopen log files, after another program rotated them',
    help: 'reopen all log files, after another program rotated them',
    load: load(() => import('../../commands/log-files.js'), 'reloadLogs', noText),
  },
];
