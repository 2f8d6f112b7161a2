import { JSON_OPTION, fileArgument, load } from './row.js';

/** @import { Command } from './row.js' */

/** Commands that show apps. @type {Command[]} */
export const INFORMATION = [
  {
    name: 'list',
    aliases: ['ls', 'l', 'ps', 'status'],
    help: 'show what runs',
    options: [
      ['--sort <field>', 'name, namespace, pid, id, cpu, memory, uptime or status, with :asc or :desc'],
      ['-m, --mini-list', 'a few lines per process instead of a table'],
      ['--group', 'the workers of each app under it'],
      ['--watch', 'again every 0.9 seconds, until Ctrl-C'],
      JSON_OPTION,
    ],
    examples: ['nclust list --sort memory:desc', 'nclust ls --group', 'nclust ls --json'],
    load: load(
      () => import('../../commands/list.js'),
      'listOrWatch',
      async () => (await import('../../render/list.js')).renderList,
    ),
  },
  {
    name: 'jlist',
    brief: 'the list as JSON in the shape of PM2',
    help: 'the list as JSON in the shape of PM2, on one line',
    load: load(
      () => import('../../commands/list.js'),
      'listDetailed',
      async () => (await import('../../render/jlist.js')).renderJlist,
    ),
  },
  {
    name: 'prettylist',
    help: 'the same for the eye; not JSON',
    load: load(
      () => import('../../commands/list.js'),
      'listDetailed',
      async () => (await import('../../render/jlist.js')).renderPrettylist,
    ),
  },
  {
    name: 'monit',
    aliases: ['dashboard', 'dash'],
    brief: 'watch apps and workers on the whole terminal',
    help: 'watch apps and workers on the whole terminal, with figures, logs and events; ? shows the keys, q quits',
    options: [JSON_OPTION],
    examples: ['nclust monit', 'nclust monit --json          the figures of this moment'],
    load: async () => {
      const [{ monit }, { renderSnapshot }] = await Promise.all([
        import('../../commands/monit.js'),
        import('../../monit/snapshot.js'),
      ]);
      return { run: monit, render: renderSnapshot, json: ({ sample }) => sample };
    },
  },
  {
    name: 'web',
    brief: 'serve a dashboard for the browser',
    help:
      'serve a dashboard for the browser, on this machine alone, and print its address; it looks and ' +
      'does not touch unless that is allowed',
    options: [
      ['--listen <address>', 'port, or address and port (default: 127.0.0.1:9616, or the next port that is free)'],
      ['--allow-actions', 'let it start, stop, restart, reload and scale apps'],
      ['--no-allow-actions', 'let it only look again'],
      ['--allow-remote', 'also on an address that others can reach; nothing is encrypted'],
      ['--new-token', 'another address: the old one opens nothing any more'],
      ['--open', 'open it in the browser of this desktop'],
      ['--off', 'end it'],
      JSON_OPTION,
    ],
    examples: ['nclust web', 'nclust web --allow-actions --open', 'nclust web --listen 8080', 'nclust web --off'],
    load: async () => {
      const [{ web }, { renderWeb }] = await Promise.all([
        import('../../commands/web.js'),
        import('../../commands/web.js'),
      ]);
      return { run: web, render: renderWeb };
    },
  },
  {
    name: 'describe',
    aliases: ['desc', 'info', 'show'],
    words: '<id|name|namespace|script|/pattern/...>',
    brief: 'all about an app, and why it last died',
    help: 'tell everything about an app, and why it last died',
    options: [JSON_OPTION],
    examples: ['nclust describe api', 'nclust describe 0 --json'],
    load: load(
      () => import('../../commands/describe.js'),
      'describe',
      async () => (await import('../../render/describe.js')).renderDescribe,
    ),
  },
  {
    name: 'why',
    words: '<id|name|namespace|/pattern/|all...>',
    brief: 'why an app is as it is, and what led to it',
    help: 'say why an app is as it is, and what has led to it; no manager has to run',
    options: [
      ['--since <time>', 'from then on: 2h, 30m, 14:30, 2026-11-21, 2026-11-21T14:30:05Z or milliseconds'],
      ['--lines <number>', 'lines of the timeline (default: 30; with --since all)'],
      JSON_OPTION,
    ],
    examples: ['nclust why api', 'nclust why all --since 2h'],
    load: async () => {
      const [{ why }, { renderWhy, explainData }] = await Promise.all([
        import('../../commands/why.js'),
        import('../../render/why/why.js'),
      ]);
      return { run: why, render: renderWhy, json: explainData };
    },
  },
  {
    name: 'events',
    words: '[id|name|namespace|/pattern/...]',
    brief: 'what has happened, and what happens',
    help: 'show what has happened, and then what happens, until Ctrl-C',
    options: [
      ['--lines <number>', 'events to begin with (default: 20; with --since all)'],
      ['--nostream', 'do not follow'],
      ['--since <time>', 'from then on: 2h, 30m, 14:30, 2026-11-21, 2026-11-21T14:30:05Z or milliseconds'],
      ['--type <types>', 'only these, with commas between: died, gave-up, "rollout:*"'],
      ['--json', 'one JSON record a line'],
    ],
    examples: [
      'nclust events',
      'nclust events api --type "died,gave-up,rollout:*" --since 1d',
      'nclust events --json | jq .',
    ],
    load: load(
      () => import('../../commands/events.js'),
      'events',
      async () => (await import('../../commands/events.js')).renderEvents,
    ),
  },
  {
    name: 'stack',
    words: '<id|name>',
    brief: 'where a worker is, even when its loop is blocked',
    help: 'print the JavaScript stack of a worker, even when its event loop is blocked',
    options: [JSON_OPTION],
    examples: ['nclust stack api', 'nclust stack 3 --json'],
    load: load(
      () => import('../../commands/stack.js'),
      'stack',
      async () => (await import('../../commands/stack.js')).renderStack,
    ),
  },
  {
    name: 'profile',
    words: '<id|name>',
    brief: 'what takes the time or memory of a worker, for Chrome',
    help: 'write what takes the time or the memory of a worker into a file that Chrome opens',
    options: [
      ['--cpu [duration]', 'where its time goes: 10s (default), 500ms, 5m'],
      ['--heap', 'what is in its memory; it stands still meanwhile'],
      ['--heap-sampling [duration]', 'what it allocates in that time (default: 10s)'],
      ['-o, --output <file>', 'default: <app>-<id>-<date>.cpuprofile, .heapsnapshot or .heapprofile, here'],
      JSON_OPTION,
    ],
    examples: ['nclust profile api --cpu 30s', 'nclust profile 3 --heap --output api.heapsnapshot'],
    load: load(() => import('../../commands/profile.js'), 'profile', fileArgument),
  },
  {
    name: 'pid',
    words: '[name]',
    help: 'print process ids, one a line',
    options: [JSON_OPTION],
    examples: ['kill -USR2 $(nclust pid api)'],
    load: async () => {
      const { findSlots, listPids, renderPids } = await import('../../commands/list.js');
      return { run: findSlots, render: renderPids, json: listPids };
    },
  },
  {
    name: 'id',
    words: '<name>',
    help: 'print the ids of an app as a list',
    options: [JSON_OPTION],
    load: async () => {
      const { findIds, listIds, renderIds } = await import('../../commands/list.js');
      return { run: findIds, render: renderIds, json: listIds };
    },
  },
  {
    name: 'env',
    words: '<id|name>',
    help: 'print the variables an instance was given',
    options: [['--diff', 'only those that are not as in this shell, and where they come from'], JSON_OPTION],
    examples: ['nclust env api --diff'],
    load: async () => {
      const [{ env }, { renderEnv }] = await Promise.all([
        import('../../commands/describe.js'),
        import('../../render/environment.js'),
      ]);
      return { run: env, render: renderEnv, json: (data) => data.differences ?? data.env };
    },
  },
];

/** Commands about problems and about this machine. @type {Command[]} */
export const DIAGNOSIS = [
  {
    name: 'doctor',
    brief: 'look for what makes trouble here, and tell what to do',
    help: 'look for what is known to make trouble here, and tell what to do',
    options: [JSON_OPTION],
    load: load(
      () => import('../../commands/doctor.js'),
      'doctor',
      async () => (await import('../../render/doctor.js')).renderDoctor,
    ),
  },
  {
    name: 'report',
    help: 'print what somebody who is asked for help wants to know',
    options: [JSON_OPTION],
    load: load(
      () => import('../../commands/doctor.js'),
      'report',
      async () => (await import('../../render/doctor.js')).renderReport,
    ),
  },
  {
    name: 'slist',
    aliases: ['sysinfos'],
    help: 'print what is known of this machine',
    options: [['-t, --tree', 'for the eye, as a tree'], JSON_OPTION],
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
