import { expect, test } from 'vitest';
import { diffDeclared, envDiff } from '../../../../../lib/config/spec/environment-diff.js';
import { environmentLines, renderEnv } from '../../../../../lib/render/environment.js';
import { createPaint } from '../../../../../lib/render/paint.js';
import { flatten, layersOf } from '../../../../../lib/shared/spec/environment.js';
import { checkSpec } from '../../../../../lib/shared/spec/spec.js';

/** @returns {any} */
function slotOf(fields) {
  const spec = checkSpec({
    name: 'api',
    kind: 'node',
    file: '/usr/bin/node',
    script: '/srv/app.js',
    cwd: '/srv',
    ...fields,
  });
  return { id: 3, slot: 1, spec, effectiveEnv: flatten(layersOf(spec, { id: 3, slot: 1 }, '/h')) };
}

const shown = (fields, shell) =>
  renderEnv(
    {
      env: {},
      differences: envDiff(
        slotOf(fields),
        { name: 'api', pm_id: '3', NODE_APP_INSTANCE: '1', NCLUST_HOME: '/h', PM2_HOME: '/h', ...shell },
        '/h',
      ),
    },
    /** @type {any} */ ({ paint: createPaint(0) }),
  );

test.each([
  ['a variable of the shell then', { shellEnv: { A: '1' } }, {}, '+ A=1  (shell at start)\n'],
  ['another value of the shell then', { shellEnv: { A: '1' } }, { A: '2' }, '~ A=2 -> 1  (shell at start)\n'],
  ['the same', { shellEnv: { A: '1' } }, { A: '1' }, ''],
  ['one that the shell has got since', {}, { A: '1' }, '- A=1  (not in the shell at start)\n'],
  ['one that is filtered', { shellEnv: { A: '1' }, filterEnv: ['A'] }, { A: '1' }, '- A=1  (filter_env)\n'],
  [
    'of a file',
    { shellEnv: { A: '1' }, fileEnv: [{ file: '/srv/.env', env: { A: '2' } }] },
    { A: '1' },
    '~ A=1 -> 2  (/srv/.env)\n',
  ],
  ['declared', { env: { A: '2' } }, {}, '+ A=2  (env)\n'],
  ['of the interpreter', { interpreterEnv: { PYTHONUNBUFFERED: '1' } }, {}, '+ PYTHONUNBUFFERED=1  (interpreter)\n'],
  ['counted up', { env: { PORT: '80' }, incrementVar: 'PORT' }, {}, '+ PORT=81  (increment_var)\n'],
  ['a secret', { secrets: { A: { file: '/a' } } }, {}, '+ A=***  (secret)\n'],
  [
    'a secret that the shell has too',
    { secrets: { A: { file: '/a' } } },
    { A: 'hunter2' },
    '~ A=*** -> ***  (secret)\n',
  ],
  [
    'of nclust',
    { instanceVar: 'WORKER' },
    {},
    '- NODE_APP_INSTANCE=1  (not in the shell at start)\n+ WORKER=1  (nclust)\n',
  ],
  ['where the shell is now', { shellEnv: { PWD: '/a', SHLVL: '1', _: 'x' } }, { PWD: '/b', OLDPWD: '/a', _: 'y' }, ''],
  ['control characters', { env: { A: '\u001b[31m' } }, {}, '+ A=?[31m  (env)\n'],
])('%s', (_what, fields, shell, text) => {
  expect(shown(fields, shell)).toBe(text);
});

test('a variable of the settings before says so', () => {
  const slot = slotOf({});
  expect(envDiff({ ...slot, effectiveEnv: { OLD: '1' } }, {}, '/h')).toEqual([
    { name: 'OLD', change: 'added', value: '1', shell: null, origin: 'settings before the reload that is under way' },
  ]);
});

test('about an app it is told what it has otherwise, and not what nclust gives to every app', () => {
  const differences = diffDeclared(
    slotOf({ env: { A: '1' }, secrets: { B: { file: '/b' } } }),
    { HOME: '/root', A: '2' },
    '/h',
  );
  expect(environmentLines(differences, createPaint(0))).toEqual([
    'Environment that differs from this shell',
    '  ~ A=2 -> 1  (env)',
    '  + B=***  (secret)',
  ]);
  expect(environmentLines([], createPaint(0))).toEqual([]);
});
