import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../../lib/cli/table/commands.js';
import { runCommandLine } from '../run-command-line.js';

/** Words that each command needs before the one behind "--". */
const NEEDED = { scale: ['api'], sendSignal: ['SIGUSR2'], trigger: ['api'], send: ['0'], set: ['logs.max_size'] };

/**
 * Runs the command line with a command that only records what it gets.
 * @param {string[]} argv
 */
async function parse(argv) {
  const row = COMMANDS.find(({ name }) => name === argv.find((word) => word !== '--'));
  const { load } = row;
  const got = { words: [], args: [], stderr: '', exitStatus: 0 };
  row.load = async () => ({
    run: async (_context, words, _options, args) => Object.assign(got, { words, args }),
    render: () => '',
  });
  try {
    const env = { PATH: '/usr/bin:/bin', NCLUST_HOME: '/nonexistent' };
    const { stderr, exitStatus } = await runCommandLine(argv, { env });
    Object.assign(got, { stderr, exitStatus });
  } finally {
    row.load = load;
  }
  return got;
}

describe('a word behind "--" is never lost', () => {
  test.each(COMMANDS.map((row) => [row.name, row]))('%s loses no word behind "--"', async (name, { words = '' }) => {
    const got = await parse([name, ...(NEEDED[name] ?? []), '--', '--foo']);
    const isRefused = got.exitStatus === 2 && /too many arguments|missing required argument/.test(got.stderr);
    expect([...got.words, ...got.args].includes('--foo') || isRefused).toBe(true);
    // A command that takes a target takes it behind "--", too.
    if (words !== '' && !/^<\S+> </.test(words)) expect(got.words.concat(got.args)).toContain('--foo');
    if (words === '') expect(got).toMatchObject({ exitStatus: 2, words: [] });
  });
});

test.each([
  [['flush', '--', '--foo'], ['--foo'], []],
  [['flush', '--json', '--', 'api'], ['api'], []],
  [['stop', 'api', '--', '--foo'], ['api', '--foo'], []],
  [['scale', 'api', '--', '-1'], ['api', '-1'], []],
  [['serve', '--', './dist', '80'], ['./dist', '80'], []],
  [['deploy', 'production', 'exec', '--', 'ls', '-la'], ['production', 'exec', 'ls', '-la'], []],
  [['--', 'flush', 'api'], ['api'], []],
  [['restart', 'api', '--', '--port', '1'], ['api'], ['--port', '1']],
  [['restart', '--', '--foo'], ['--foo'], []],
  [['restart', '-k', '3s', '--', '--foo', '--', '--port', '1'], ['--foo'], ['--port', '1']],
  [['start', '--', '--foo'], ['--foo'], []],
  [['start', '--', 'app.js', '--', '-x', '--', 'y'], ['app.js'], ['-x', '--', 'y']],
  [['start', '--watch', 'app.js', '--', '-x'], [], ['-x']],
  [['start', '--stop-exit-codes', '0', 'app.js', '--', '-x'], [], ['-x']],
  [['startOrReload', '--', 'api.config.js'], ['api.config.js'], []],
  [['completion', 'words', '--', 'stop', ''], ['words'], ['stop', '']],
])('%j: words %j, arguments for the app %j', async (argv, words, args) => {
  expect(await parse(argv)).toMatchObject({ exitStatus: 0, words, args });
});

test.each([['kill'], ['save'], ['list'], ['reloadLogs'], ['resurrect'], ['update'], ['daemon']])(
  '%s takes no word, so it refuses the one behind "--"',
  async (name) => {
    expect(await parse([name, '--', 'api'])).toMatchObject({
      exitStatus: 2,
      stderr: expect.stringMatching(/^nclust: too many arguments for '\w+'\. Expected 0 arguments but got 1\.\n/),
    });
  },
);
