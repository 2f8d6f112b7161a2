import { fileArgument, load } from './row.js';

/** @import { Command } from './row.js' */

// Renderers that are not in the module of their command.
const table = async () => (await import('../../render/list.js')).renderList;
const jlist = async () => (await import('../../render/jlist.js')).renderJlist;
const prettylist = async () => (await import('../../render/jlist.js')).renderPrettylist;
const figures = async () => (await import('../../monit/snapshot.js')).renderSnapshot;
const environment = async () => (await import('../../render/environment.js')).renderEnv;
const findings = async () => (await import('../../render/doctor.js')).renderDoctor;
const report = async () => (await import('../../render/doctor.js')).renderReport;

/** @type {Command[]} */
export const INFORMATION = [
  {
    name: 'list',
    aliases: ['ls', 'l', 'ps', 'status'],
    help: 'list all apps with their status',
    options: [
      ['--sort <field>', 'sort by name, namespace, pid, id, cpu, memory, uptime or status, with :asc or :desc'],
      ['-m, --mini-list', 'a few lines per process instead of a table'],
      ['--group', 'group the workers under their app'],
      ['--watch', 'repeat every 0.9 seconds, until Ctrl-C'],
    ],
    examples: ['nclust list --sort memory:desc', 'nclust ls --group', 'nclust ls --json'],
    load: load(() => import('../../commands/list.js'), 'listOrWatch', table),
  },
  {
    name: 'jlist',
    brief: 'print the list as JSON in the format of PM2',
    help: 'print the list as JSON in the format of PM2, on one line',
    isText: true,
    load: load(() => import('../../commands/list.js'), 'listDetailed', jlist),
  },
  {
    name: 'prettylist',
    help: 'print the same for people to read; not JSON',
    isText: true,
    load: load(() => import('../../commands/list.js'), 'listDetailed', prettylist),
  },
  {
    name: 'monit',
    aliases: ['dashboard', 'dash'],
    brief: 'watch apps and workers on the whole terminal',
    help: 'watch apps and workers on the whole terminal, with figures, logs and events; ? shows the keys, q quits',
    examples: ['nclust monit', 'nclust monit --json          the figures of this moment'],
    load: load(
      () => import('../../commands/monit.js'),
      'monit',
      figures,
      ({ sample }) => sample,
    ),
  },
  {
    name: 'web',
    brief: 'serve a dashboard for the browser',
    help:
      'serve a dashboard for the browser, on this machine only, and print its address; it changes nothing ' +
      'unless you allow that',
    options: [
      ['--listen <address>', 'port, or address and port (default: 127.0.0.1:9616, or the next free port)'],
      ['--allow-actions', 'let it start, stop, restart, reload and scale apps'],
      ['--no-allow-actions', 'take that permission back'],
      ['--allow-remote', 'allow an address that others can reach; nothing is encrypted'],
      ['--new-token', 'create a new address; the old one stops working'],
      ['--open', 'open it in the browser of this desktop'],
      ['--off', 'stop it'],
    ],
    examples: ['nclust web', 'nclust web --allow-actions --open', 'nclust web --listen 8080', 'nclust web --off'],
    load: load(() => import('../../commands/web.js'), 'web', 'renderWeb'),
  },
  {
    name: 'describe',
    aliases: ['desc', 'info', 'show'],
    words: '<id|name|namespace|script|/pattern/...>',
    brief: 'show all about an app, and why it last died',
    help: 'show everything about an app, and why it last died',
    examples: ['nclust describe api', 'nclust describe 0 --json'],
    load: async () => {
      const [{ describe }, { renderDescribe, describeData }] = await Promise.all([
        import('../../commands/describe.js'),
        import('../../render/describe.js'),
      ]);
      return { run: describe, render: renderDescribe, json: describeData };
    },
  },
  {
    name: 'why',
    words: '[id|name|namespace|/pattern/|all...]',
    brief: 'say what needs attention, or what led to the state of an app',
    help:
      'without an app: say what needs attention, and what to do; exit with 1 if something is bad. With an app: ' +
      'explain its state, and what led to it, also without a manager',
    options: [
      ['--since <time>', 'from this time on: 2h, 30m, 14:30, 2026-11-21, 2026-11-21T14:30:05Z or milliseconds'],
      ['--lines <number>', 'lines of the timeline (default: 30, or all with --since)'],
    ],
    examples: ['nclust why', 'nclust why api', 'nclust why all --since 2h'],
    load: async () => {
      const [{ why }, { renderWhy, explainData }, { renderAttention, attentionData }] = await Promise.all([
        import('../../commands/why.js'),
        import('../../render/why/why.js'),
        import('../../render/attention.js'),
      ]);
      return {
        run: why,
        render: (data, view) => (data.troubles ? renderAttention : renderWhy)(data, view),
        json: (data) => (data.troubles ? attentionData : explainData)(data),
      };
    },
  },
  {
    name: 'events',
    words: '[id|name|namespace|/pattern/...]',
    brief: 'show past events, and follow new ones (not: --nostream)',
    help: 'show past events, and follow new ones until Ctrl-C (not: --nostream)',
    options: [
      ['--lines <number>', 'number of past events (default: 20, or all with --since)'],
      ['--nostream', 'do not follow'],
      ['--since <time>', 'from this time on: 2h, 30m, 14:30, 2026-11-21, 2026-11-21T14:30:05Z or milliseconds'],
      ['--type <types>', 'only these types, for example "died,gave-up,rollout:*"'],
      ['--json', 'print one JSON record per line'],
    ],
    examples: [
      'nclust events',
      'nclust events --lines 5 --nostream',
      'nclust events api --type "died,gave-up,rollout:*" --since 1d',
      'nclust events --json | jq .',
    ],
    load: load(() => import('../../commands/events.js'), 'events', 'renderEvents'),
  },
  {
    name: 'stack',
    words: '<id|name>',
    brief: 'show what a worker runs, even if its loop is blocked',
    help: 'print the JavaScript stack of a worker, even if its event loop is blocked',
    examples: ['nclust stack api', 'nclust stack 3 --json'],
    load: load(() => import('../../commands/stack.js'), 'stack', 'renderStack'),
  },
  {
    name: 'profile',
    words: '<id|name>',
    brief: 'profile the CPU or memory of a worker, for Chrome',
    help: 'write a CPU or memory profile of a worker to a file that Chrome opens',
    options: [
      ['--cpu [duration]', 'CPU profile of this time: 10s (default), 500ms, 5m'],
      ['--heap', 'heap snapshot; the worker is paused until it is written'],
      ['--heap-sampling [duration]', 'allocations during this time (default: 10s)'],
      [
        '-o, --output <file>',
        'file to write (default, in this folder: <app>-<id>-<date>.cpuprofile, .heapsnapshot or .heapprofile)',
      ],
    ],
    examples: ['nclust profile api --cpu 30s', 'nclust profile 3 --heap --output api.heapsnapshot'],
    load: load(() => import('../../commands/profile.js'), 'profile', fileArgument),
  },
  {
    name: 'pid',
    words: '[name]',
    help: 'print process ids, one per line',
    examples: ['kill -USR2 $(nclust pid api)'],
    load: load(() => import('../../commands/list.js'), 'findSlots', 'renderPids', 'listPids'),
  },
  {
    name: 'id',
    words: '<name>',
    help: 'print the ids of an app as a list',
    load: load(() => import('../../commands/list.js'), 'findSlots', 'renderIds', 'listIds'),
  },
  {
    name: 'env',
    words: '<id|name>',
    help: 'print the environment variables of an instance',
    options: [['--diff', 'only those that differ from this shell, and where they come from']],
    examples: ['nclust env api --diff'],
    load: load(
      () => import('../../commands/describe.js'),
      'env',
      environment,
      (data) => data.differences ?? data.env,
    ),
  },
];

/** @type {Command[]} */
export const DIAGNOSIS = [
  {
    name: 'doctor',
    brief: 'find known problems here, and print how to fix them',
    help: 'find known problems of this machine and this home, and print how to fix them',
    load: load(() => import('../../commands/doctor.js'), 'doctor', findings),
  },
  {
    name: 'report',
    help: 'print the facts that a bug report needs',
    load: load(() => import('../../commands/doctor.js'), 'report', report),
  },
  {
    name: 'slist',
    aliases: ['sysinfos'],
    help: 'print facts about this machine',
    options: [['-t, --tree', 'print a tree']],
    load: async () => {
      const [{ doctor }, { renderMachine }] = await Promise.all([
        import('../../commands/doctor.js'),
        import('../../render/doctor.js'),
      ]);
      return {
        run: async (context) => ({ ...(await doctor(context)), exitStatus: 0 }),
        render: renderMachine,
        json: ({ facts }) => facts,
      };
    },
  },
];
