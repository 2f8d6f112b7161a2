import { ATTRIBUTES, longFlag } from '../../lib/app-spec/table.js';
import { BYTES_FORMS, DURATION_FORMS } from '../../lib/shared/units.js';

const MARKS = [
  '<!-- attributes -->',
  '<!-- end of attributes -->',
  '<!-- not needed -->',
  '<!-- end of not needed -->',
];

export function withTables(page) {
  const [before, , between, , after] = page.split(new RegExp(`(?:${MARKS.join('|')})`));
  return [before, MARKS[0], `\n${needed()}\n`, MARKS[1], between, MARKS[2], `\n${notNeeded()}\n`, MARKS[3], after].join(
    '',
  );
}

function needed() {
  return [
    cells(['attribute', 'also called', 'accepted', 'default', 'meaning', 'option']),
    cells(Array(6).fill('---')),
    ...ATTRIBUTES.filter(({ unneeded }) => unneeded === undefined).map(describeAttribute),
  ].join('\n');
}

export function describeAttribute({ name, aliases = [], accepted, defaultText = '', meaning, flags }) {
  const option = flags === undefined ? '' : code(longFlag(flags));
  return cells([code(name), aliases.map(code).join(' '), shorten(accepted), defaultText, meaning, option]);
}

/** One row for each reason. */
function notNeeded() {
  const notes = [...new Set(ATTRIBUTES.flatMap(({ unneeded }) => unneeded ?? []))];
  const namesFor = (reason) => ATTRIBUTES.filter(({ unneeded }) => unneeded === reason).map(({ name }) => code(name));
  return [
    cells(['attribute', 'why']),
    cells(['---', '---']),
    ...notes.map((reason) => cells([namesFor(reason).join(' '), reason])),
  ].join('\n');
}

/** The page explains these words once. */
const SHORT = [
  [`or ${DURATION_FORMS}`, 'or a time'],
  [DURATION_FORMS, 'time'],
  [`as ${BYTES_FORMS}`, 'a size'],
  [/from (1[KM]), a size/, 'a size from $1'],
  [/^true or false$/, 'boolean'],
  [/^a text that is not empty$/, 'text'],
  [/a whole number(?: from 0$)?/, 'integer'],
  ['a text whose quotes are closed, or', 'a text or'],
  [/^an object whose values are .*/, 'an object of variables'],
  [/, or null for [^,]*/, ''],
];

function shorten(accepted) {
  return SHORT.reduce((text, [long, short]) => text.replace(long, short), accepted);
}

function code(word) {
  return `\`${word}\``;
}

function cells(texts) {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |`;
}
