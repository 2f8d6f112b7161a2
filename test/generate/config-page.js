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

function notNeeded() {
  const rows = ATTRIBUTES.flatMap((row) => (row.note === undefined ? [] : [cells([code(row.name), row.note])]));
  return [cells(['attribute', 'why']), cells(['---', '---']), ...rows].join('\n');
}

/** Shortens the formats of times and sizes, because the page explains them once. */
function acceptedBy({ accepted = '' }) {
  return accepted.replace(DURATION_FORMS, 'a time').replace(BYTES_FORMS, 'a size');
}

function code(word) {
  return `\`${word}\``;
}

function cells(texts) {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |`;
}
