import { JSON_OPTION, NO_WAIT, changedList, load, loadSetting } from './row.js';

/** The home as a whole: its settings, its list, its manager. @type {import('./row.js').Command[]} */
export const HOME = [
  {
    name: 'set', words: '<key> <value>', help: 'change a setting of the whole home', options: [JSON_OPTION],
    examples: ['nclust set logs.max_size 50M', 'nclust set logs.max_total 10G'],
    load: loadSetting(() => import('../commands/set.js'), 'set', async () => () => ''),
  },
  {
    name: 'get', words: '[key]', help: 'print a setting, or all of them', options: [JSON_OPTION],
    load: loadSetting(() => import('../commands/get.js'), 'get', async () => (await import('../render/settings.js')).renderSettings),
  },
  {
    name: 'unset', words: '<key>', help: 'go back to the default of a setting', options: [JSON_OPTION],
    load: loadSetting(() => import('../commands/unset.js'), 'unset', async () => () => ''),
  },
  {
    name: 'conf', words: '[key] [value]', help: 'the same as get, or with a value as set', options: [JSON_OPTION],
    load: loadSetting(() => import('../commands/conf.js'), 'conf', async () => (await import('../render/settings.js')).renderSettings),
  },
  {
    name: 'config', words: '<key> [value]', help: 'the same as conf', isHidden: true, options: [JSON_OPTION],
    load: loadSetting(() => import('../commands/conf.js'), 'conf', async () => (await import('../render/settings.js')).renderSettings),
  },
  {
    name: 'multiset', words: '<pairs>', brief: 'change several settings at once', help: 'change several settings, given as "key value key value"', options: [JSON_OPTION],
    examples: ['nclust multiset "logs.max_size 50M logs.max_files 5"'],
    load: loadSetting(() => import('../commands/multiset.js'), 'multiset', async () => () => ''),
  },
  {
    name: 'save', aliases: ['dump'], help: 'write the list to a file that resurrect reads', options: [['-f, --force', 'also when the list is empty'], JSON_OPTION],
    load: load(() => import('../commands/save.js'), 'save', async () => ({ file }) => `${file}\n`),
  },
  {
    name: 'resurrect', help: 'start what was saved and is not in the list', options: [NO_WAIT, JSON_OPTION],
    load: load(() => import('../commands/resurrect.js'), 'resurrect', changedList),
  },
  {
    name: 'ping', help: 'ask whether the manager answers', isPlain: true, options: [JSON_OPTION],
    load: async () => {
      const [{ ping }, { renderPing }] = await Promise.all([import('../commands/ping.js'), import('../render/ping.js')]);
      return { run: ping, render: renderPing, json: ({ hello }) => hello };
    },
  },
  {
    name: 'update', aliases: ['updatePM2'], brief: 'replace the manager by this version, without interruption', help: 'replace the running manager by the version of this command, without an interruption', options: [NO_WAIT, JSON_OPTION],
    examples: ['npm install -g nclust@latest && nclust update'],
    load: load(() => import('../commands/update.js'), 'update', async () => () => ''),
  },
  {
    name: 'kill', help: 'stop every app, then the manager', options: [JSON_OPTION],
    load: load(() => import('../commands/kill.js'), 'kill', async () => () => ''),
  },
];
