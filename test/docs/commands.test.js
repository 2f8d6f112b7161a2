import { Command, CommanderError, Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { COMMANDS, findCommand } from '../../lib/cli/table/commands.js';
import { OPTIONS_OF } from '../../lib/app-spec/table.js';
import { pm2OnlyOptions } from '../../lib/cli/table/row.js';
import { renderExamples } from '../../lib/commands/examples.js';
import { SORT_FIELDS } from '../../lib/render/list.js';
import { splitWords } from './split-words.js';
import { listPages, readPage } from './pages.js';

const PAGES = ['README.md', ...listPages()];

const GENERAL = ['--version', '--help', '--color', '--no-color', '--silent', '-v', '-h', '-s'];

/** A word in angle or square brackets, or with an ellipsis, is a placeholder. */
const isPlaceholder = (word) => /[<[…]|\.\.\.$/.test(word);

/** Finds the commands of nclust in code blocks and between backticks. */
function commandLines(page) {
  const lines = readPage(page).split('\n');
  let isFenced = false;
  return lines.flatMap((text, at) => {
    if (text.startsWith('```')) isFenced = !isFenced;
    const whole =
      isFenced || text.startsWith('    ') ? [text] : [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code);
    return whole.flatMap((code) => calls(code)).map((code) => ({ line: at + 1, text: code }));
  });
}

/** @type {Record<string, string>} */
const CLOSED_BY = { "'": "'", '(': ')' };

/** Returns the text after each "nclust", to the end of that command or to a comment. */
function calls(text) {
  const plain = text.replace(/\$\([^)]*\)/g, 'word');
  const isPicture = /[─│└├┌]/.test(text);
  // In a config file or a shell script, the command may be in quotes.
  return isPicture
    ? []
    : [...plain.matchAll(/(^|[\s"'(=])nclust (?=[a-zA-Z-])(.*?)(?=, (?:and )?nclust |$)/g)].map(([, before, rest]) =>
        rest.split(CLOSED_BY[before] ?? / {2,}| # | && | \| |; | > /)[0].trim(),
      );
}

/** @param {string} text  Without "nclust". */
function parse(text) {
  const all = splitWords(text);
  const words = all.includes('--') ? all.slice(0, all.indexOf('--')) : all;
  const at = words.findIndex((word) => !GENERAL.includes(word));
  if (at === -1 || words[at] === 'help') return;
  const row = findCommand(words[at]);
  if (!row) throw new Error(`There is no command "${words[at]}"`);
  const command = new Command(row.name)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .allowExcessArguments(false);
  for (const word of (row.words ?? '').split(/ (?=[<[])/).filter(Boolean)) command.argument(word);
  const flags = [
    ...OPTIONS_OF[row.takesOptionsOf ?? 'none'].flatMap((option) => option.flags ?? []),
    ...(row.options ?? []).map(([one]) => one),
    ...pm2OnlyOptions(row, OPTIONS_OF[row.takesOptionsOf ?? 'none']).map(([one]) => one),
    '--no-color',
    '-s, --silent',
  ];
  for (const one of flags) command.addOption(new Option(one));
  command.action(() => {});
  command.parse(
    words
      .slice(at + 1)
      .filter(
        (word, index, rest) => !(isPlaceholder(word) && rest[index - 1] === undefined && row.words === undefined),
      ),
    { from: 'user' },
  );
}

/**
 * Accepts errors about missing arguments, because a page may name a command without its arguments:
 * "`nclust stop` does it". Also accepts a request for help.
 */
function isWrong(error) {
  return !(
    error instanceof CommanderError &&
    ['commander.missingArgument', 'commander.optionMissingArgument', 'commander.helpDisplayed'].includes(error.code)
  );
}

describe.each(PAGES.filter((page) => commandLines(page).length > 0))('%s', (page) => {
  test.each(commandLines(page))('line $line: nclust $text', ({ text }) => {
    try {
      parse(text);
    } catch (error) {
      if (isWrong(error)) throw error;
    }
  });
});

test('every line of "nclust examples" is a command line', () => {
  const lines = renderExamples()
    .split('\n')
    .flatMap((line) => calls(line));
  expect(lines.length).toBeGreaterThan(10);
  for (const line of lines) parse(line);
});

/** Options in the first cell of a table's rows: "| `-m`, `--mini-list` |". */
const optionsOfTables = (page) =>
  readPage(page)
    .split('\n')
    .flatMap((line) =>
      [...(/^\| ((?:`[^`]+`[, /]*)+) *\|/.exec(line)?.[1].matchAll(/`(-{1,2}[a-z][\w-]*)/g) ?? [])].map(
        ([, flag]) => flag,
      ),
    );

const flagsOf = (row) =>
  [
    ...OPTIONS_OF[row.takesOptionsOf ?? 'none'].flatMap((option) => option.flags ?? []),
    ...(row.options ?? []).map(([one]) => one),
    ...pm2OnlyOptions(row, OPTIONS_OF[row.takesOptionsOf ?? 'none']).map(([one]) => one),
  ].flatMap((flags) => [...flags.matchAll(/(?<![\w-])--?[a-z][\w-]*/g)].map(([flag]) => flag));

describe('tables of options', () => {
  const known = new Set([...GENERAL, ...COMMANDS.flatMap(flagsOf)]);

  test.each(['docs/list.md', 'docs/web.md'])('%s lists the options that exist', (page) => {
    expect(optionsOfTables(page).length).toBeGreaterThan(0);
    expect(optionsOfTables(page).filter((flag) => !known.has(flag))).toEqual([]);
  });

  test('docs/list.md names the fields and orders that list takes, and no others', () => {
    const row = findCommand('list');
    expect(optionsOfTables('docs/list.md').sort()).toEqual(
      (row?.options ?? []).flatMap(([flags]) => flags.match(/--?[a-z][\w-]*/g) ?? []).sort(),
    );
    const text = readPage('docs/list.md');
    expect(
      /`--sort <field>` \| by ([^`]+) with/
        .exec(text)?.[1]
        .match(/\w+/g)
        ?.filter((word) => word !== 'or'),
    ).toEqual(Object.keys(SORT_FIELDS));
  });
});

describe('docs/from-pm2.md', () => {
  const page = readPage('docs/from-pm2.md');

  test('docs/from-pm2.md has a row for every command of PM2', () => {
    const isCovered = (word) =>
      page.includes(`\`${word}\``) ||
      page.includes(`\`${word} `) ||
      (word.startsWith('module:') && page.includes('`module:...`'));
    const words = COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(words.filter((word) => !isCovered(word))).toEqual([]);
  });

  test.each([
    'startOrReload ecosystem.config.js --env production --update-env',
    'startOrRestart ecosystem.json --update-env',
    'start ecosystem.config.js --env production --update-env --only api',
    'start app.js -f --update-env',
    'restart all --update-env --silent',
    'reload all --force',
    'delete all -s',
    'save --force',
    'start npm --name web -- run start',
    'start app.js --name=api -i=-1 --merge-logs --time',
    'startup systemd -u deploy --hp /home/deploy',
    'logs api --err --lines 200 --nostream',
    'scale api +2',
    'stop api --no-color',
  ])('nclust %s takes the same command line as pm2', (text) => {
    expect(() => parse(text)).not.toThrow();
  });
});
