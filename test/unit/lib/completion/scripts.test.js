import { expect, test } from 'vitest';
import { candidates, FILES } from '../../../../lib/completion/scripts.js';

const command = (name, words, o = {}) => ({ name, words, help: '', load: async () => ({}), ...o });
const vocabulary = {
  commands: [
    command('start', '[script|name...]'),
    command('reload', '<id|name|all...>'),
    command('list', undefined, { aliases: ['ls'] }),
    command('set', '<key> <value>'),
    command('completion', '<what> [shell]'),
  ],
  flagsOf: ({ name }) =>
    name === 'start' ? ['-n, --name <name>', '--cwd <folder>', '--time', '-h, --help'] : ['--json', '-h, --help'],
  apps: async () => ['api', 'app 2', '0'],
  settings: () => ['logs.max_size', 'logs.max_files'],
};

test.each([
  ['a command', ['re'], ['reload']],
  ['all commands, and help', [''], ['start', 'reload', 'list', 'set', 'completion', 'help']],
  ['an option of the program', ['--v'], ['--version']],
  ['a target', ['reload', 'a'], ['api', 'app 2', 'all']],
  ['a second target', ['reload', 'api', ''], ['api', 'app 2', '0', 'all']],
  ['a file or a target', ['start', 'a'], ['api', 'app 2', FILES]],
  ['an option of the command', ['start', '--n'], ['--name']],
  ['options in both spellings', ['start', '-'], ['-n', '--name', '--cwd', '--time', '-h', '--help']],
  ['files for an option that takes a path', ['start', '--cwd', ''], [FILES]],
  ['nothing for a free value', ['start', '--name', ''], []],
  ['targets and files after a flag without a value', ['start', '--time', 'ap'], ['api', 'app 2', FILES]],
  ['files for arguments of the app', ['start', 'app.js', '--', ''], [FILES]],
  ['an option of a command that is given by its alias', ['ls', '--j'], ['--json']],
  ['nothing after a command without arguments', ['ls', ''], []],
  ['a setting', ['set', 'logs.max_s'], ['logs.max_size']],
  ['nothing for the value of a setting', ['set', 'logs.max_size', ''], []],
  ['a shell', ['completion', 'install', 'z'], ['zsh']],
  ['a command after help', ['help', 'li'], ['list']],
  ['nothing after an unknown command', ['nonsense', ''], []],
])('the completion offers %s', async (_, words, expected) => {
  expect(await candidates(words, vocabulary)).toEqual(expected);
});
