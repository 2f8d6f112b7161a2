import { JSON_OPTION, load } from './row.js';

/** What runs, and how. @type {import('./row.js').Command[]} */
export const INFORMATION = [
  {
    name: 'list', aliases: ['ls', 'l', 'ps', 'status'], help: 'show what runs', isPlain: true,
    options: [['--sort <field>', 'name, namespace, pid, id, cpu, memory, uptime or status, with :asc or :desc'], ['-m, --mini-list', 'a few lines per process instead of a table'], ['--watch', 'again every 0.9 seconds, until Ctrl-C'], JSON_OPTION],
    examples: ['nclust list --sort memory:desc', 'nclust ls --json'],
    load: load(() => import('../commands/list.js'), 'listOrWatch', async () => (await import('../render/list.js')).renderList),
  },
  {
    name: 'jlist', help: 'the list as JSON in the shape of PM2, on one line', isPlain: true,
    load: load(() => import('../commands/list.js'), 'listDetailed', async () => (await import('../render/jlist.js')).renderJlist),
  },
  {
    name: 'prettylist', help: 'the same for the eye; not JSON', isPlain: true,
    load: load(() => import('../commands/list.js'), 'listDetailed', async () => (await import('../render/prettylist.js')).renderPrettylist),
  },
  {
    name: 'describe', aliases: ['desc', 'info', 'show'], words: '<id|name|namespace|script|/pattern/...>', help: 'tell everything about an app, and why it last died', options: [JSON_OPTION],
    examples: ['nclust describe api', 'nclust describe 0 --json'],
    load: load(() => import('../commands/describe.js'), 'describe', async () => (await import('../render/describe.js')).renderDescribe),
  },
  {
    name: 'pid', words: '[name]', help: 'print process ids, one a line', isPlain: true, options: [JSON_OPTION],
    examples: ['kill -USR2 $(nclust pid api)'],
    load: async () => {
      const [{ slotsNamed }, { pidsOf, renderPids }] = await Promise.all([import('../commands/ids.js'), import('../render/ids.js')]);
      return { run: slotsNamed, render: renderPids, json: pidsOf };
    },
  },
  {
    name: 'id', words: '<name>', help: 'print the ids of an app as a list', options: [JSON_OPTION],
    load: async () => {
      const [{ idsNamed }, { idsOf, renderIds }] = await Promise.all([import('../commands/ids.js'), import('../render/ids.js')]);
      return { run: idsNamed, render: renderIds, json: idsOf };
    },
  },
  {
    name: 'env', words: '<id|name>', help: 'print the variables an instance was given',
    options: [['--diff', 'only those that are not as in this shell, and where they come from'], JSON_OPTION],
    examples: ['nclust env api --diff'],
    load: async () => {
      const [{ env }, { renderEnv }] = await Promise.all([import('../commands/env.js'), import('../render/env.js')]);
      return { run: env, render: renderEnv, json: (data) => data.differences ?? data.env };
    },
  },
];
