import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Option } from 'commander';
import { OPTIONS_OF } from '../../../../lib/app-spec/table.js';
import { pm2OnlyOptions } from '../../../../lib/cli/table/row.js';
import { findCommand } from '../../../../lib/cli/table/commands.js';
import { ELSEWHERE } from '../../../../lib/cli/table/home.js';
import { findAttribute } from '../../../../lib/app-spec/table.js';
import { ATTRIBUTE_ROWS, COMMAND_ROWS, OPTION_ROWS } from './rows.js';

/** @param {string} path */
const textOf = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');

const page = textOf('../../../../docs/from-pm2.md');
const config = textOf('../../../../docs/config.md');

const mentions = (text, word) => new RegExp(`(^|[^\\w-])${word}([^\\w-]|$)`, 'm').test(text);

const GLOBAL = ['-v', '--version', '-h', '--help', '-s', '--silent', '--no-color'];

function flagsOf(word) {
  const command = findCommand(word);
  if (!command) return [];
  const described = OPTIONS_OF[command.takesOptionsOf ?? 'none'].flatMap(({ flags }) => (flags ? [flags] : []));
  const all = [
    ...described,
    ...(command.options ?? []).map(([flags]) => flags),
    ...pm2OnlyOptions(command, OPTIONS_OF[command.takesOptionsOf ?? 'none']).map(([flags]) => flags),
  ].map((flags) => new Option(flags));
  return [
    ...all.flatMap(({ long, short }) => [long, short]).filter((flag) => flag !== undefined && flag !== null),
    ...GLOBAL,
  ];
}

test.each(COMMAND_ROWS.map((row) => [row.words.join(' '), row]))(
  'the command exists, and its test and docs mention it: %s',
  (_, { words, file, isElsewhere = false }) => {
    const [name, ...aliases] = words;
    for (const word of words) {
      expect(findCommand(word), `"${word}" is no command`).toBeDefined();
      expect(Object.hasOwn(ELSEWHERE, word), word).toBe(isElsewhere);
      expect(mentions(page, word), `docs/from-pm2.md does not mention "${word}"`).toBe(true);
      expect(mentions(textOf(`../${file}`), word), `${file} does not use "${word}"`).toBe(true);
    }
    if (!isElsewhere) for (const alias of aliases) expect(findCommand(alias)?.name).toBe(name);
  },
);

test.each(OPTION_ROWS.map((row) => [`${row.flags.join(', ')} of ${row.commands.join(', ') || 'all'}`, row]))(
  'the option exists, and its test and docs mention it: %s',
  (_, { flags, commands, file }) => {
    for (const command of commands)
      for (const flag of flags) expect(flagsOf(command), `${command} does not take ${flag}`).toContain(flag);
    if (commands.length === 0) for (const flag of flags) expect(GLOBAL).toContain(flag);
    expect(
      flags.some((flag) => textOf(`../${file}`).includes(`'${flag}`)),
      `${file} uses none of ${flags}`,
    ).toBe(true);
    const ofOneCommand = commands.length === 1 || commands.includes('startup');
    if (!ofOneCommand || commands[0] === 'start')
      expect(
        flags.some((flag) => mentions(page, flag)),
        `docs/from-pm2.md mentions none of ${flags}`,
      ).toBe(true);
  },
);

test.each(ATTRIBUTE_ROWS.map((words) => [words.join(' '), words]))(
  'the attribute exists, and its test and docs mention it: %s',
  (_, words) => {
    const [name] = words;
    for (const word of words) {
      expect(findAttribute(word)?.name, word).toBe(name);
      expect(mentions(textOf('attributes.test.js'), word), `attributes.test.js does not use "${word}"`).toBe(true);
    }
    // docs/config.md has one rule for all camelCase words, and does not mention each word.
    for (const word of words)
      if (!/[A-Z]/.test(word)) expect(mentions(config, word), `docs/config.md does not mention "${word}"`).toBe(true);
  },
);

/** The first cell of each row in the table below a title. */
function cellsOf(title) {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `') || line.startsWith('|`'))
    .map((line) => line.split('|')[1]);
}

const codesIn = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code);

test('docs/from-pm2.md names only commands that exist', () => {
  const words = cellsOf('Commands')
    .flatMap(codesIn)
    .map((code) => code.split(' ')[0])
    .filter((word) => !/^pm2-|^module:\.\.\.$/.test(word));
  expect(words.length).toBeGreaterThan(50);
  expect(words.filter((word) => !findCommand(word) && !Object.hasOwn(ELSEWHERE, word))).toEqual([]);
});

test('docs/from-pm2.md marks each command correctly as available or not', () => {
  const section = page.split(/^## /m).find((part) => part.startsWith('Commands\n')) ?? '';
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const wrong = rows.flatMap(([, cell, verdict]) =>
    codesIn(cell)
      .map((code) => code.split(' ')[0])
      .filter((word) => findCommand(word) && Object.hasOwn(ELSEWHERE, word) !== ['instead', 'no'].includes(verdict)),
  );
  expect(wrong).toEqual([]);
});

test('docs/from-pm2.md names only options that exist', () => {
  const taken = new Set(['start', 'restart', 'reload', 'stop', 'list', 'startup', 'save'].flatMap(flagsOf));
  const flags = cellsOf('Options').flatMap(codesIn);
  expect(flags.length).toBeGreaterThan(60);
  expect(flags.filter((flag) => !taken.has(flag))).toEqual([]);
});

test('docs/from-pm2.md names only attributes that exist', () => {
  const names = cellsOf('Attributes')
    .flatMap(codesIn)
    .map((code) => code.split(':')[0]);
  const silent = codesIn(/accepted and do nothing:([^]*?)\./.exec(page)?.[1] ?? '');
  expect([names.length > 8, silent.length > 5]).toEqual([true, true]);
  expect([...names, ...silent].filter((name) => !findAttribute(name))).toEqual([]);
});

test('docs/from-pm2.md links only to pages that exist', () => {
  const links = [...page.matchAll(/\]\(([\w.-]+\.md)\)/g)].map(([, link]) => link);
  expect(links.length).toBeGreaterThan(10);
  expect(
    [...new Set(links)].filter((link) => {
      try {
        return !textOf(`../../../../docs/${link}`);
      } catch {
        return true;
      }
    }),
  ).toEqual([]);
});
