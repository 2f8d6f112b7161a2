import { expect, test } from 'vitest';
import { duration } from '../../../../lib/app-spec/kinds.js';
import { row } from '../../../../lib/app-spec/row.js';
import { createTable, ROWS } from '../../../../lib/app-spec/table.js';
import { OTHER_HEADINGS } from '../../../../lib/cli/table/headings.js';
import { describeAttribute } from '../../../generate/config-page.js';
import { entriesFor } from '../../../generate/config-schema.js';
import { linesFor } from '../../../generate/config-types.js';
import { linesForField } from '../../../generate/spec-types.js';

test('a field is one row: option, attribute, default, help, pages and types come from it', () => {
  const pauses = row('rest_time', duration, 1_500, {
    flags: '--rest-time <time>',
    needs: 'live',
    isPublic: true,
    isPm2: true,
    group: 'When it exits:',
    help: 'how long it rests',
  });
  const { attributes, fields, optionsOf } = createTable([...ROWS, pauses]);

  const attribute = attributes.find(({ name }) => name === 'rest_time');
  expect(attribute?.read('2s', 'apps[0].rest_time')).toBe(2_000);
  expect(() => attribute?.read('soon', 'apps[0].rest_time')).toThrow(/rest_time is "soon"; accepted: milliseconds/);
  for (const command of ['start', 'restart', 'reload'])
    expect(optionsOf[command]).toContainEqual(
      expect.objectContaining({
        key: 'restTime',
        flags: '--rest-time <time>',
        group: expect.toBeOneOf(OTHER_HEADINGS),
        help: 'how long it rests (default: 1.5s)',
      }),
    );
  expect(fields.restTimeMs).toMatchObject({
    default: 1_500,
    needs: 'live',
    shownAs: 'rest_time',
    isPublic: true,
    isPm2: true,
  });
  expect([0, -1, '2s'].map(fields.restTimeMs.accepts)).toEqual([true, false, false]);

  expect(describeAttribute(attribute)).toBe('| `rest_time` |  | time | 1500 | how long it rests | `--rest-time` |');
  expect(entriesFor(attribute)).toEqual([
    ['rest_time', { description: 'how long it rests. Default: 1500', type: ['number', 'string'] }],
    ['restTime', { description: 'The same as rest_time.', type: ['number', 'string'] }],
  ]);
  expect(linesFor(attribute).slice(0, 2)).toEqual([
    '  /** How long it rests. Default: 1500. A bare number is ms. */',
    '  rest_time?: number | string;',
  ]);
  expect(linesForField(fields.restTimeMs)).toEqual(['  /** How long it rests. */', '  restTimeMs: number;']);
});
