import { changedList, JSON_OPTION, load } from './row.js';

/** @import { Command } from './row.js' */

/** What is said to apps that run. @type {Command[]} */
export const MESSAGES = [
  {
    name: 'send',
    words: '<id|name> <line...>',
    help: 'send a line to the standard input of an app in fork mode',
    options: [JSON_OPTION],
    examples: ['nclust send 0 "reload plugins"'],
    load: load(() => import('../../commands/messages.js'), 'send', changedList),
  },
  {
    name: 'attach',
    words: '<id|name> [separator]',
    brief: 'type to an app and see what it writes, until Ctrl-C',
    help:
      'type to an app and see what it writes, until Ctrl-C; the separator is sent after each line in ' +
      'place of its end',
    examples: ['nclust attach 0'],
    load: load(
      () => import('../../commands/messages.js'),
      'attach',
      async () => (await import('../../commands/messages.js')).renderAttached,
    ),
  },
  {
    name: 'trigger',
    words: '<id|name|namespace|script|/pattern/|all> <action> [params]',
    brief: 'call an action of an app, and print what it returns',
    help: 'call an action that an app has registered, and print what it returns',
    options: [JSON_OPTION],
    examples: ['nclust trigger api "clear cache"', 'nclust trigger all log-level debug --json'],
    load: async () => {
      const [{ trigger }, { renderReplies }] = await Promise.all([
        import('../../commands/messages.js'),
        import('../../commands/messages.js'),
      ]);
      return { run: trigger, render: renderReplies, json: ({ replies }) => replies };
    },
  },
  {
    name: 'inspect',
    words: '<id|name>',
    brief: 'let a debugger into a Node process that runs',
    help: 'let a debugger into a Node process that runs; of several instances, the first',
    options: [['--stop', 'shut it out again'], JSON_OPTION],
    examples: ['nclust inspect api', 'nclust inspect 3 --stop'],
    load: load(
      () => import('../../commands/inspect.js'),
      'inspect',
      async () => (await import('../../commands/inspect.js')).renderInspected,
    ),
  },
];
