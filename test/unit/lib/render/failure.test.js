import { expect, test } from 'vitest';
import { failureJson, renderFailure } from '../../../../lib/render/failure.js';
import { createPaint } from '../../../../lib/render/paint.js';
import { NclustError } from '../../../../lib/shared/errors.js';

const plain = createPaint(0);

test('a failed start shows the error, the instance, the reason, its last lines and the next step', () => {
  const error = new NclustError(
    'ERR_NCLUST_NOT_UP',
    'The start of "api" failed: instance 1 exited with code 1 after 0.2s.',
    {
      hint: 'nclust logs api',
      data: {
        slots: [
          {
            id: 4,
            name: 'api',
            slot: 1,
            reason: 'exited with code 1 after 0.2s',
            lastLines: ['Error: no database', '    at boot (app.js:3)'],
          },
        ],
      },
    },
  );
  expect(renderFailure(error, plain)).toBe(`\
nclust: The start of "api" failed: instance 1 exited with code 1 after 0.2s.
  api, instance 1 (id 4): exited with code 1 after 0.2s
  | Error: no database
  |     at boot (app.js:3)
next: nclust logs api
`);
});

test('instances that failed with the same error quote it once', () => {
  const slot = { id: 4, name: 'api', slot: 0, reason: 'exited', words: 'Error: no', lastLines: ['Error: no'] };
  const text = renderFailure(
    new NclustError('ERR_NCLUST_NOT_UP', 'x', { data: { slots: [slot, { ...slot, slot: 1 }] } }),
    plain,
  );
  expect(text.match(/\| Error: no/g)).toHaveLength(1);
});

test('a request for several apps has one line for each app, the failed apps last, and one next command', () => {
  const lastLines = ['TypeError: no rows', '    at load (rates.js:3:1)'];
  const error = new NclustError('ERR_NCLUST_RELOAD_FAILED', '2 of 4 apps failed: "rates", "search". Long.', {
    hint: 'nclust logs rates --err',
    data: {
      slots: [
        {
          id: 2,
          name: 'rates',
          slot: 0,
          reason: 'exited',
          words: 'TypeError: no rows',
          frame: 'load (a.js:3)',
          lastLines,
        },
      ],
      apps: [
        {
          name: 'rates',
          message: 'Reload of "rates" stopped.',
          instances: 2,
          running: [0, 1].map((slot) => ({ slot, generation: 3 })),
          isOld: true,
        },
        { name: 'search', message: 'It is worse.', instances: 2, running: [{ slot: 0, generation: 4 }], isOld: false },
        { name: 'x', message: 'It is\nworse.', instances: 1, running: [], isOld: true },
      ],
      done: [{ name: 'web', instances: 2 }],
    },
  });
  expect(renderFailure(error, plain)).toBe(`\
nclust: 3 of 4 apps failed.
  web     done, 2 instances
  rates   failed: instance 0 exited, "TypeError: no rows" in load (a.js:3); the old instances still serve: generation 3
  search  failed: It is worse; 1 of 2 instances serves: generation 4
  x       failed: It is?worse; no instance serves
next: nclust logs rates --err
`);
});

test('a manager that did not start shows the end of its log', () => {
  const error = new NclustError('ERR_NCLUST_DAEMON_UNREACHABLE', 'It did not start.', {
    data: { lastLines: ['boom'] },
  });
  expect(renderFailure(error, plain)).toBe('nclust: It did not start.\n  | boom\n');
});

test('only an internal error shows its stack', () => {
  const cause = new TypeError('x is not a function');
  expect(renderFailure(new NclustError('ERR_NCLUST_INTERNAL', 'x is not a function', { cause }), plain)).toContain(
    'failure.test.js',
  );
  expect(renderFailure(new NclustError('ERR_NCLUST_USAGE', 'x', { cause }), plain)).toBe('nclust: x\n');
});

test('the JSON of a failure is one line', () => {
  expect(JSON.parse(failureJson(new NclustError('ERR_NCLUST_USAGE', 'x', { data: { a: 1 } })))).toEqual({
    error: { code: 'ERR_NCLUST_USAGE', message: 'x', hint: null, data: { a: 1 }, exitStatus: 2 },
  });
});
