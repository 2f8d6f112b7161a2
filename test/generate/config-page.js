import { ATTRIBUTES } from '../../lib/config/options/schema.js';
import { BYTES_FORMS, DURATION_FORMS } from '../../lib/shared/units.js';
import { meaningOf } from './meaning.js';

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
  const rows = ATTRIBUTES.filter(({ note }) => note === undefined).map((row) =>
    cells([
      code(row.name),
      (row.aliases ?? []).map(code).join(' '),
      acceptedBy(row),
      row.default ?? '',
      meaningOf(row),
      row.flags ? code(/--[a-z-]+/.exec(row.flags)?.[0] ?? '') : '',
    ]),
  );
  return [
    cells(['attribute', 'also called', 'accepted', 'default', 'meaning', 'option']),
    cells(Array(6).fill('---')),
    ...rows,
  ].join('\n');
}

/** One row for each reason. */
function notNeeded() {
  const notes = [...new Set(ATTRIBUTES.flatMap(({ note }) => note ?? []))];
  const namesFor = (reason) => ATTRIBUTES.filter(({ note }) => note === reason).map(({ name }) => code(name));
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

function acceptedBy({ accepted = '' }) {
  return SHORT.reduce((text, [long, short]) => text.replace(long, short), accepted);
}

function code(word) {
  return `\`${word}\``;
}

function cells(texts) {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |`;
}
