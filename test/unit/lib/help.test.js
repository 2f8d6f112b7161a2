import { describe, expect, test } from 'vitest';
import { unknownCommandError } from '../../../lib/cli/usage-error.js';
import { COMMANDS } from '../../../lib/cli/table/commands.js';
import { FIRST_OPTIONS, HEADINGS, OTHER_HEADINGS } from '../../../lib/cli/table/headings.js';
import { longFlag, OPTIONS_OF } from '../../../lib/app-spec/table.js';
import { pattern } from '../../helpers/pattern.js';
import { runCommandLine } from './run-command-line.js';

const VISIBLE = COMMANDS.filter(({ isHidden }) => !isHidden);

/** Commands that end, empty or overwrite something. */
const ENDING = [
  ...['stop', 'delete', 'kill', 'flush', 'reset', 'restart', 'reload', 'scale', 'update', 'unstartup', 'apply'],
  ...['sendSignal', 'startOrRestart', 'startOrReload', 'resurrect', 'cleardump', 'set', 'unset', 'multiset', 'save'],
  ...['deploy', 'import'],
];

async function nclust(argv) {
  return runCommandLine(argv, {
    isTTY: true,
    colourLevels: async () => ({ stdout: 1, stderr: 0 }),
    columns: 80,
    cwd: '/',
    env: { NCLUST_HOME: '/nowhere/nclust' },
  });
}

describe('options of the program in front', () => {
  test.each([['-s'], ['--no-color'], ['--color']])('%s changes nothing about a page', async (option) => {
    const page = (await nclust(['help', 'scale'])).stdout;
    expect(page).toContain('Examples:');
    expect((await nclust([option, 'help', 'scale'])).stdout).toBe(page);
    expect((await nclust(['help', option, 'scale'])).stdout).toBe(page);
    expect((await nclust([option, 'scale', '--help'])).stdout).toBe(page);
  });

  test.each([['-h'], ['--help']])('%s is about all commands', async (option) => {
    expect((await nclust([option, 'scale'])).stdout).toBe((await nclust(['help'])).stdout);
  });
});

describe('the list of commands', () => {
  test.each([[['help', 'help']], [['help', '--all']], [['help', 'help', '--all']], [['-s', 'help', 'help']]])(
    'the list of commands is the page of %j',
    async (argv) => {
      expect(await nclust(argv)).toEqual({ exitStatus: 0, stdout: (await nclust(['help'])).stdout, stderr: '' });
    },
  );

  test('the list of commands has every command under one heading, and no other', () => {
    const named = HEADINGS.flatMap(([, names]) => names);
    expect([...named].sort()).toEqual([...VISIBLE.map(({ name }) => name), 'help'].sort());
  });

  test('the list of commands has a line for each command', async () => {
    const lines = (await nclust(['help'])).stdout.split('\n');
    for (const { name } of VISIBLE)
      expect(
        lines.filter((line) => line.startsWith(`  ${name} `)),
        name,
      ).toHaveLength(1);
    const [from, to] = [lines.indexOf('Apps:'), lines.findIndex((line) => line.startsWith('"nclust help'))];
    const isOwn = (line) => line === '' || /^  \w/.test(line) || /^\S.*:$/.test(line);
    expect(lines.slice(from, to).filter((line) => !isOwn(line))).toEqual([]);
  });

  test('a command line without a command does not print the list of commands', async () => {
    const { exitStatus, stderr } = await nclust([]);
    expect(exitStatus).toBe(1);
    expect(stderr.split('\n').length).toBeLessThan(20);
    expect(stderr).toMatch(/nclust help/);
  });
});

test.each([[['help']], ...VISIBLE.flatMap(({ name }) => [[['help', name]], [['help', name, '--all']]])])(
  '%j fits on a terminal of 80 columns',
  async (argv) => {
    const { exitStatus, stdout } = await nclust(argv);
    expect(exitStatus).toBe(0);
    expect(stdout.split('\n').filter((line) => line.length > 80 && !line.startsWith('Usage:'))).toEqual([]);
  },
);

test.each([[['help']], [['help', 'events']]])('%j names the option that ends events', async (argv) => {
  expect((await nclust(argv)).stdout).toMatch(/past events, and.*--nostream/);
});

describe('the page of start', () => {
  test('the page of start has every option of an app under one heading', () => {
    const first = FIRST_OPTIONS.flatMap(([, names]) => names);
    const options = OPTIONS_OF.start.filter(({ flags }) => !first.includes(longFlag(flags)));
    expect(options.filter(({ group }) => !OTHER_HEADINGS.includes(group))).toEqual([]);
    expect(first).toEqual([...new Set(first)]);
  });

  test('the page of start begins with what is typed most', async () => {
    const { stdout } = await nclust(['help', 'start']);
    const headings = stdout.match(/^\S.*:$/gm);
    expect(headings?.[0]).toBe('Used most:');
    expect(headings?.at(-1)).toBe('Examples:');
    expect(headings).not.toContain('Options:');
    expect(stdout).toContain('--name <name>');
  });

  test('the page of start shows rare options only with --all', async () => {
    const [short, all, flag] = await Promise.all([
      nclust(['help', 'start']),
      nclust(['help', 'start', '--all']),
      nclust(['start', '--help', '--all']),
    ]);
    expect(short.stdout).not.toContain('--log-ship');
    expect(short.stdout).toContain('nclust help start --all');
    expect(all.stdout).toContain('--log-ship');
    expect(all.stdout).not.toContain('--all');
    expect(flag.stdout).toBe(all.stdout);
  });

  test('the page of another command begins with its own options', async () => {
    const { stdout } = await nclust(['help', 'serve']);
    expect(stdout.indexOf('--spa')).toBeGreaterThan(0);
    expect(stdout.indexOf('--spa')).toBeLessThan(stdout.indexOf('--name <name>'));
  });
});

describe('a command line that is wrong', () => {
  test.each([
    [
      'names the page of its command',
      ['restart'],
      /^nclust: missing required argument .*\.\nnext: nclust help restart\n$/,
    ],
    [
      'gets the command that was meant',
      ['strat', 'api'],
      /^nclust: unknown command 'strat'\.\nnext: Did you mean start\? nclust help\n$/,
    ],
    [
      'gets the option that was meant',
      ['start', 'a.js', '--nmae', 'x'],
      /'--nmae'\.\nnext: Did you mean --name\? nclust help start\n$/,
    ],
    [
      'gets a rare option that was meant',
      ['start', 'a.js', '--max-restart', '3'],
      /'--max-restart'\.\nnext: Did you mean --max-restarts\? nclust help start\n$/,
    ],
    [
      'gets the command whose help was meant',
      ['help', 'lgos'],
      /^nclust: unknown command 'lgos'\.\nnext: Did you mean logs\? nclust help\n$/,
    ],
    [
      'is told who changes the number of instances',
      ['reload', 'api', '-i', '4'],
      /'-i'\.\nnext: .*nclust scale <app> <number>\n$/,
    ],
    [
      'is told what takes an option that restart does not',
      ['restart', 'api', '--no-watch'],
      /next: It is an option of reload: nclust reload <app> --no-watch \.\.\.\n$/,
    ],
    ...['--container', '--dist', '--image-name=x', '--node-version=18', '--dockerdaemon', '--fresh', '--daemon'].map(
      (flag) => [
        `is told what is there in place of ${flag}`,
        ['start', 'app.js', flag],
        pattern(
          /^nclust: unknown option '--[a-z-]+(=\w+)?'\.\n/,
          /next: PM2 makes a Docker image with it\. .*"nclust-runtime", "app\.js".*docs\/containers\.md\n$/,
        ),
      ],
    ),
    [
      'is told what is there in place of a vendor',
      ['start', 'app.js', '--secret=x'],
      /next: .*nothing leaves this machine/,
    ],
    [
      'is told how what only start takes is changed',
      ['restart', 'api', '--source-map-support'],
      /next: --source-map-support is an option of start\..*nclust apply/,
    ],
  ])('a wrong command line %s', async (_what, argv, said) => {
    expect(await nclust(argv)).toMatchObject({ exitStatus: 2, stdout: '', stderr: expect.stringMatching(said) });
  });

  test.each(ENDING)('a command that is nearly %s gets no proposal that ends or overwrites something', (name) => {
    const slips = [...name].map((_, at) => name.slice(0, at) + name.slice(at + 1));
    for (const word of [...slips, `${name}s`, `un${name}`]) {
      const proposed = /Did you mean (.*)\?/.exec(unknownCommandError(word).hint ?? '')?.[1];
      expect(ENDING, word).not.toContain(proposed);
    }
  });

  test('the error of a wrong command line is printed as JSON if --json was given', async () => {
    const { stderr } = await nclust(['scale', 'api', '--json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'ERR_NCLUST_USAGE', exitStatus: 2 } });
  });
});
