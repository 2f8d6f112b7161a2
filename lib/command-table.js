/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('./render/list.js').View} View */

/**
 * A command and how its data becomes text.
 * @typedef {object} Loaded
 * @property {(context: Context, words: string[], options: Record<string, any>, args: string[]) => Promise<any> | AsyncIterable<any>} run
 * @property {(data: any, view: View) => string} render
 * @property {(data: any) => unknown} [json]  What --json prints. Default: the slots of the data, or the data itself.
 */

/**
 * @typedef {object} Command
 * @property {string} name
 * @property {string[]} [aliases]
 * @property {string} [words]  Its arguments, as commander writes them.
 * @property {string} help
 * @property {[flags: string, help: string][]} [options]
 * @property {'start'|'restart'|'reload'} [takesOptionsOf]  Those of config/options.js; all of them, and arguments for the app behind "--", or what can change later.
 * @property {string[]} [examples]
 * @property {boolean} [isPlain]  May run without the command-line parser when nothing stands behind its name: see program.js.
 * @property {() => Promise<Loaded>} load  Imports what this command needs, and nothing else.
 */

/** @type {[string, string]} */
const JSON_OPTION = ['--json', 'print the data as JSON'];
/** @type {[string, string]} */
const NO_WAIT = ['--no-wait', 'return at once instead of when it is done'];
const TARGETS = '<id|name|namespace|script|/pattern/|all...>';

/** @type {Command[]} */
export const COMMANDS = [
  {
    name: 'start',
    words: '[script|command|name|id|namespace...]',
    help: 'start a script, a program or a shell command; or again what is in the list',
    takesOptionsOf: 'start',
    options: [['-f, --force', 'start it once more although it is in the list'], ['--no-wait', 'return at once instead of when it is up'], JSON_OPTION],
    examples: [
      'nclust start app.js -i max                 one process per CPU, sharing the port',
      'nclust start app.js --name api -- --port 3000',
      'nclust start "npm run serve" --name web    a shell command',
      'nclust start worker.py --interpreter python3.12',
      'nclust start api.js --time --log-max-size 50M --log-ship syslog+tcp://logs.example.com:601',
      'nclust start api                           again, after a stop',
    ],
    load: load(() => import('./commands/start.js'), 'start', changedList),
  },
  {
    name: 'stop', words: TARGETS, help: 'stop apps, keep them in the list', options: [NO_WAIT, JSON_OPTION],
    examples: ['nclust stop api worker', 'nclust stop /^web-/', 'nclust stop all'],
    load: load(() => import('./commands/stop.js'), 'stop', changedList),
  },
  {
    name: 'restart', words: TARGETS, help: 'end apps and start them again; what is set here stays set', takesOptionsOf: 'restart',
    options: [['-a, --update-env', 'merge the variables of this shell over theirs'], NO_WAIT, JSON_OPTION],
    examples: ['nclust restart api', 'PORT=4000 nclust restart api --update-env', 'nclust restart api --log-type json'],
    load: load(() => import('./commands/restart.js'), 'restart', changedList),
  },
  {
    name: 'reload', words: TARGETS, help: 'replace apps by new instances, without losing a request; what is set here stays set', takesOptionsOf: 'reload',
    options: [['-a, --update-env', 'merge the variables of this shell over theirs'], NO_WAIT, JSON_OPTION],
    examples: ['nclust reload api', 'nclust reload all --max-surge 2', 'nclust reload api --rollback-window 30s', 'nclust reload api --interpreter "$(nvm which 24)"'],
    load: load(() => import('./commands/reload.js'), 'reload', changedList),
  },
  {
    name: 'delete', aliases: ['del'], words: TARGETS, help: 'stop apps and take them out of the list', options: [NO_WAIT, JSON_OPTION],
    examples: ['nclust delete api', 'nclust delete all'],
    load: load(() => import('./commands/delete.js'), 'deleteApps', changedList),
  },
  {
    name: 'scale', words: '<app> <number>', help: 'change the number of instances: N, +N, -N, max or N%', options: [NO_WAIT, JSON_OPTION],
    examples: ['nclust scale api 4', 'nclust scale api +2', 'nclust scale api -1', 'nclust scale api 50%'],
    load: load(() => import('./commands/scale.js'), 'scale', changedList),
  },
  {
    name: 'list', aliases: ['ls', 'l', 'ps', 'status'], help: 'show what runs', isPlain: true,
    options: [['--sort <field>', 'name, namespace, pid, id, cpu, memory, uptime or status, with :asc or :desc'], ['-m, --mini-list', 'a few lines per process instead of a table'], JSON_OPTION],
    examples: ['nclust list --sort memory:desc', 'nclust ls --json'],
    load: load(() => import('./commands/list.js'), 'list', async () => (await import('./render/list.js')).renderList),
  },
  {
    name: 'jlist', help: 'the list as JSON in the shape of PM2, on one line', isPlain: true,
    load: load(() => import('./commands/list.js'), 'listDetailed', async () => (await import('./render/jlist.js')).renderJlist),
  },
  {
    name: 'prettylist', help: 'the same for the eye; not JSON', isPlain: true,
    load: load(() => import('./commands/list.js'), 'listDetailed', async () => (await import('./render/prettylist.js')).renderPrettylist),
  },
  {
    name: 'describe', aliases: ['desc', 'info', 'show'], words: '<id|name|namespace|script|/pattern/...>', help: 'tell everything about an app, and why it last died', options: [JSON_OPTION],
    examples: ['nclust describe api', 'nclust describe 0 --json'],
    load: load(() => import('./commands/describe.js'), 'describe', async () => (await import('./render/describe.js')).renderDescribe),
  },
  {
    name: 'pid', words: '[name]', help: 'print process ids, one a line', isPlain: true, options: [JSON_OPTION],
    examples: ['kill -USR2 $(nclust pid api)'],
    load: async () => {
      const [{ slotsNamed }, { pidsOf, renderPids }] = await Promise.all([import('./commands/ids.js'), import('./render/ids.js')]);
      return { run: slotsNamed, render: renderPids, json: pidsOf };
    },
  },
  {
    name: 'id', words: '<name>', help: 'print the ids of an app as a list', options: [JSON_OPTION],
    load: async () => {
      const [{ idsNamed }, { idsOf, renderIds }] = await Promise.all([import('./commands/ids.js'), import('./render/ids.js')]);
      return { run: idsNamed, render: renderIds, json: idsOf };
    },
  },
  {
    name: 'env', words: '<id|name>', help: 'print the variables an instance was given', options: [JSON_OPTION],
    load: async () => {
      const [{ env }, { renderEnv }] = await Promise.all([import('./commands/env.js'), import('./render/env.js')]);
      return { run: env, render: renderEnv, json: (data) => data.env };
    },
  },
  {
    name: 'logs', aliases: ['log'], words: '[id|name|namespace|/pattern/...]', help: 'show the last lines of apps and follow them until Ctrl-C', isPlain: true,
    options: [
      ['--lines <number>', 'lines of each file to begin with; with --grep or --level, of all together (default: 15; with --since all)'],
      ['--follow', 'then the new ones, until Ctrl-C (default)'], ['--nostream', 'do not follow'],
      ['--out', 'only standard output'], ['--err', 'only standard error'],
      ['--grep <pattern>', 'only lines that match, as "text" or "/pattern/i"'],
      ['--level <level>', 'only JSON lines of this level or above: trace, debug, info, warn, error or fatal'],
      ['--since <time>', 'from then on: 2h, 30m, 14:30, 2026-11-21, 2026-11-21T14:30:05Z or milliseconds'], ['--until <time>', 'up to then, and do not follow'],
      ['--timestamp [format]', 'when it was written, before each line (default: YYYY-MM-DD-HH:mm:ss)'],
      ['--highlight [text]', 'mark a text; without one, what --grep has found'],
      ['--raw', 'the bare lines'], ['--json', 'one JSON record a line'], ['--format', 'timestamp=... app=... id=... type=... message=... a line'],
    ],
    examples: [
      'nclust logs api --lines 200', 'nclust logs --err --nostream', 'nclust logs api --since 2h --grep "/time.?out/i" --highlight', 'nclust logs --level warn --timestamp HH:mm:ss',
      'nclust logs api --json | jq .message',
    ],
    load: async () => {
      const [{ logs }, { createLogRenderer }] = await Promise.all([import('./commands/logs.js'), import('./render/log-entries.js')]);
      return { run: logs, render: createLogRenderer() };
    },
  },
  {
    name: 'flush', words: '[id|name|namespace|script|/pattern/|all...]', help: 'empty log files and remove rotated ones; without a target those of all apps and of the manager', options: [JSON_OPTION],
    examples: ['nclust flush api', 'nclust flush'],
    load: async () => {
      const [{ flush }, { renderFlushed }] = await Promise.all([import('./commands/flush.js'), import('./render/flushed.js')]);
      return { run: flush, render: renderFlushed, json: ({ files }) => files };
    },
  },
  {
    name: 'reloadLogs', help: 'open every log file anew, after another program has rotated them', options: [JSON_OPTION],
    load: load(() => import('./commands/reload-logs.js'), 'reloadLogs', async () => () => ''),
  },
  {
    name: 'set', words: '<key> <value>', help: 'change a setting of the whole home', options: [JSON_OPTION],
    examples: ['nclust set logs.max_size 50M', 'nclust set logs.max_total 10G'],
    load: loadSetting(() => import('./commands/set.js'), 'set', async () => () => ''),
  },
  {
    name: 'get', words: '[key]', help: 'print a setting, or all of them', options: [JSON_OPTION],
    load: loadSetting(() => import('./commands/get.js'), 'get', async () => (await import('./render/settings.js')).renderSettings),
  },
  {
    name: 'unset', words: '<key>', help: 'go back to the default of a setting', options: [JSON_OPTION],
    load: loadSetting(() => import('./commands/unset.js'), 'unset', async () => () => ''),
  },
  {
    name: 'reset', words: TARGETS, help: 'set the restart counters to zero', options: [JSON_OPTION],
    load: load(() => import('./commands/reset.js'), 'reset', changedList),
  },
  {
    name: 'sendSignal', words: '<signal> <id|name|namespace|/pattern/|all...>', help: 'send a signal to processes', options: [JSON_OPTION],
    examples: ['nclust sendSignal SIGUSR2 api'],
    load: load(() => import('./commands/send-signal.js'), 'sendSignal', changedList),
  },
  {
    name: 'save', aliases: ['dump'], help: 'write the list to a file that resurrect reads', options: [['-f, --force', 'also when the list is empty'], JSON_OPTION],
    load: load(() => import('./commands/save.js'), 'save', async () => ({ file }) => `${file}\n`),
  },
  {
    name: 'resurrect', help: 'start what was saved and is not in the list', options: [NO_WAIT, JSON_OPTION],
    load: load(() => import('./commands/resurrect.js'), 'resurrect', changedList),
  },
  {
    name: 'ping', help: 'ask whether the manager answers', isPlain: true, options: [JSON_OPTION],
    load: async () => {
      const [{ ping }, { renderPing }] = await Promise.all([import('./commands/ping.js'), import('./render/ping.js')]);
      return { run: ping, render: renderPing, json: ({ hello }) => hello };
    },
  },
  {
    name: 'update', help: 'replace the running manager by the version of this command, without an interruption', options: [NO_WAIT, JSON_OPTION],
    examples: ['npm install -g nclust@latest && nclust update'],
    load: load(() => import('./commands/update.js'), 'update', async () => () => ''),
  },
  {
    name: 'kill', help: 'stop every app, then the manager', options: [JSON_OPTION],
    load: load(() => import('./commands/kill.js'), 'kill', async () => () => ''),
  },
];

/**
 * @param {string} word
 * @returns {Command|undefined}  By name or alias.
 */
export function findCommand(word) {
  return COMMANDS.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
}

/**
 * @template {string} Name
 * @param {() => Promise<Record<Name, Loaded['run']>>} module
 * @param {Name} name
 * @param {() => Promise<Loaded['render']>} renderer
 * @returns {() => Promise<Loaded>}
 */
function load(module, name, renderer) {
  return async () => {
    const [found, render] = await Promise.all([module(), renderer()]);
    return { run: found[name], render };
  };
}

/**
 * As JSON, every command about settings prints those it was about.
 * @type {typeof load}
 */
function loadSetting(module, name, renderer) {
  return async () => ({ ...(await load(module, name, renderer)()), json: ({ settings }) => settings });
}

/** After a change people want to see the whole list, as in PM2. */
async function changedList() {
  const { renderList } = await import('./render/list.js');
  /** @type {Loaded['render']} */
  const render = ({ all }, view) => renderList({ slots: all }, view);
  return render;
}
