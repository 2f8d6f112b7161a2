import { expect, test } from 'vitest';
import { diffDeclared, envDiff } from '../../../../../lib/config/spec/environment-diff.js';
import { environmentLines, renderEnv } from '../../../../../lib/render/environment.js';
import { createPaint } from '../../../../../lib/render/paint.js';
import { flatten, listLayers } from '../../../../../lib/app-spec/layers.js';
import { checkSpec } from '../../../../../lib/app-spec/check.js';

function slotOf(fields) {
  const spec = checkSpec({
    name: 'api',
    kind: 'node',
    file: '/usr/bin/node',
    script: '/srv/app.js',
    cwd: '/srv',
    ...fields,
  });
  return { id: 3, slot: 1, spec, effectiveEnv: flatten(listLayers(spec, { id: 3, slot: 1 }, '/h')) };
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
    { paint: createPaint(0) },
  );

test.each([
  ['a variable of the shell at start', { shellEnv: { A: '1' } }, {}, '+ A=1  (shell at start)\n'],
  ['another value of the shell at start', { shellEnv: { A: '1' } }, { A: '2' }, '~ A=2 -> 1  (shell at start)\n'],
  ['nothing for an equal value', { shellEnv: { A: '1' } }, { A: '1' }, ''],
  ['a variable that is new in the shell', {}, { A: '1' }, '- A=1  (not in the shell at start)\n'],
  ['a filtered variable', { shellEnv: { A: '1' }, filterEnv: ['A'] }, { A: '1' }, '- A=1  (filter_env)\n'],
  [
    'a variable of an env file',
    { shellEnv: { A: '1' }, fileEnv: [{ file: '/srv/.env', env: { A: '2' } }] },
    { A: '1' },
    '~ A=1 -> 2  (/srv/.env)\n',
  ],
  ['a declared variable', { env: { A: '2' } }, {}, '+ A=2  (env)\n'],
  [
    'a variable of the interpreter',
    { interpreterEnv: { PYTHONUNBUFFERED: '1' } },
    {},
    '+ PYTHONUNBUFFERED=1  (interpreter)\n',
  ],
  ['a variable of increment_var', { env: { PORT: '80' }, incrementVar: 'PORT' }, {}, '+ PORT=81  (increment_var)\n'],
  ['a secret masked', { secrets: { A: { file: '/a' } } }, {}, '+ A=***  (secret)\n'],
  [
    'a secret that the shell has too masked',
    { secrets: { A: { file: '/a' } } },
    { A: 'hunter2' },
    '~ A=*** -> ***  (secret)\n',
  ],
  [
    'a variable of nclust',
    { instanceVar: 'WORKER' },
    {},
    '- NODE_APP_INSTANCE=1  (not in the shell at start)\n+ WORKER=1  (nclust)\n',
  ],
  [
    'nothing for variables that every shell sets',
    { shellEnv: { PWD: '/a', SHLVL: '1', _: 'x' } },
    { PWD: '/b', OLDPWD: '/a', _: 'y' },
    '',
  ],
  ['no control characters', { env: { A: '\u001b[31m' } }, {}, '+ A=?[31m  (env)\n'],
])('envDiff shows %s', (_what, fields, shell, text) => {
  expect(shown(fields, shell)).toBe(text);
});

test('envDiff shows a variable of the old settings during a reload', () => {
  const slot = slotOf({});
  expect(envDiff({ ...slot, effectiveEnv: { OLD: '1' } }, {}, '/h')).toEqual([
    { name: 'OLD', change: 'added', value: '1', shell: null, origin: 'settings before the reload that is under way' },
  ]);
});

test('diffDeclared leaves out what the app does not have, and what nclust sets for every app', () => {
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
