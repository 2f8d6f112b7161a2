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
