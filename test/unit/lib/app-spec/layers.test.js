import { expect, test } from 'vitest';
import { environmentFault, flatten, listLayers, readProgramVariables } from '../../../../lib/app-spec/layers.js';
import { checkSpec, checkSpecChange, completeSpec } from '../../../../lib/app-spec/check.js';

const least = { name: 'api', kind: 'node', file: '/usr/bin/node', script: '/srv/app.js', cwd: '/srv' };
const OWN = { name: 'api', pm_id: '7', NODE_APP_INSTANCE: '2', NCLUST_HOME: '/h', PM2_HOME: '/h' };

/** Returns the environment in slot 2 with id 7, without nclust's own variables. */
function given(fields, secrets) {
  const env = flatten(listLayers(checkSpec({ ...least, ...fields }), { id: 7, slot: 2 }, '/h', secrets));
  return Object.fromEntries(Object.entries(env).filter(([key, value]) => OWN[key] !== value));
}

test('a program that nclust runs for an app gets its variables, and of the command what each program needs', () => {
  const shell = { PATH: '/bin', LANG: 'C', HOME: '/root', TOKEN: 'of root' };
  const variables = (fields) =>
    readProgramVariables(checkSpec({ ...least, shellEnv: shell, env: { A: 'a' }, ...fields }), shell);
  const base = { PATH: '/bin', LANG: 'C', A: 'a' };
  expect(variables({})).toEqual({ ...base, HOME: '/root', TOKEN: 'of root' });
  expect(variables({ filterEnv: ['TOKEN'] })).toEqual({ ...base, HOME: '/root' });
  expect(variables({ filterEnv: true })).toEqual({ ...base, HOME: '/root' });
  expect(variables({ filterEnv: true, uid: 33 })).toEqual(base);
  expect(variables({ filterEnv: true, uid: 33, ownerEnv: { HOME: '/www' } })).toEqual({ ...base, HOME: '/www' });
});

test.each([
  ['the shell', { shellEnv: { A: 's', B: 's' } }, { A: 's', B: 's' }],
  [
    'what an interpreter likes goes behind the shell',
    { interpreterEnv: { A: 'i', B: 'i' }, shellEnv: { A: '' } },
    { A: '', B: 'i' },
  ],
  [
    'the user it runs as goes before the shell',
    { shellEnv: { HOME: '/root' }, ownerEnv: { HOME: '/home/web' } },
    { HOME: '/home/web' },
  ],
  ['a file goes before the shell', { shellEnv: { A: 's' }, fileEnv: [{ file: '/a', env: { A: 'a' } }] }, { A: 'a' }],
  [
    'the last file wins',
    {
      fileEnv: [
        { file: '/a', env: { A: 'a', B: 'a' } },
        { file: '/b', env: { A: 'b' } },
      ],
    },
    { A: 'b', B: 'a' },
  ],
  ['what is declared goes before files', { fileEnv: [{ file: '/a', env: { A: 'a' } }], env: { A: 'e' } }, { A: 'e' }],
  [
    'a secret goes before what is declared, and is shown as ***',
    { env: { A: 'e' }, secrets: { A: { file: '/run/a' } } },
    { A: '***' },
  ],
  [
    'nclust has the last word',
    { env: { name: 'x', pm_id: 'x', NCLUST_HOME: 'x' }, secrets: { PM2_HOME: { file: '/a' } } },
    {},
  ],
  ['the app may set the number itself', { env: { NODE_APP_INSTANCE: '' } }, { NODE_APP_INSTANCE: '' }],
  [
    'the number of another app, copied from the shell, does not count',
    { env: { NODE_APP_INSTANCE: '9' }, shellEnv: { NODE_APP_INSTANCE: '9' } },
    {},
  ],
  [
    'the number of the instance under another name',
    { instanceVar: 'WORKER', env: { NODE_APP_INSTANCE: 'mine' } },
    { WORKER: '2', NODE_APP_INSTANCE: 'mine' },
  ],
  [
    'a variable counts up from what is declared',
    { incrementVar: 'PORT', env: { PORT: '3000' }, shellEnv: { PORT: '1' } },
    { PORT: '3002' },
  ],
  [
    'a variable counts up from a file',
    { incrementVar: 'PORT', fileEnv: [{ file: '/a', env: { PORT: '-5' } }] },
    { PORT: '-3' },
  ],
  [
    'nothing of the shell',
    { filterEnv: true, interpreterEnv: { I: '1' }, ownerEnv: { HOME: '/h' }, shellEnv: { A: 's' }, env: { B: 'e' } },
    { I: '1', HOME: '/h', B: 'e' },
  ],
  ['one variable of the shell less', { filterEnv: 'TOKEN', shellEnv: { TOKEN: 's', TOKENS: 's' } }, { TOKENS: 's' }],
  [
    'those of the shell that contain a text less',
    { filterEnv: ['TOKEN', 'AWS_'], shellEnv: { TOKEN: 's', MY_TOKENS: 's', AWS_KEY: 's', A: 's' } },
    { A: 's' },
  ],
  [
    'what is declared is not filtered',
    { filterEnv: ['A'], shellEnv: { A: 's' }, env: { A: 'e' }, fileEnv: [{ file: '/a', env: { AB: 'f' } }] },
    { A: 'e', AB: 'f' },
  ],
  [
    'names that every object has',
    { shellEnv: { constructor: 's', toString: 's' }, incrementVar: 'constructor', env: { constructor: '1' } },
    { constructor: '3', toString: 's' },
  ],
])('%s', (_what, fields, env) => {
  expect(given(fields)).toEqual(env);
});

test('the same spec, slot and home result in the same environment, with secrets only if they are passed in', () => {
  const fields = { secrets: { A: { command: 'get a' } }, env: { B: 'e' } };
  expect(given(fields)).toEqual(given(fields));
  expect(given(fields, { A: 'value' })).toEqual({ A: 'value', B: 'e' });
});

test.each([
  [{ incrementVar: 'PORT' }, /that variable does not exist/],
  [{ incrementVar: 'PORT', env: { PORT: '/run/api.sock' } }, /is not a whole number/],
  [{ incrementVar: 'PORT', shellEnv: { PORT: '1' }, filterEnv: true }, /that variable does not exist/],
  [{ incrementVar: 'constructor' }, /that variable does not exist/],
])('a variable that cannot be incremented is reported: %o', (fields, fault) => {
  expect(environmentFault(checkSpec({ ...least, ...fields }))).toMatch(fault);
});

test.each([
  [{ secrets: { A: 'path' } }],
  [{ secrets: { A: { file: '/a', command: 'b' } } }],
  [{ secrets: { A: { file: '' } } }],
  [{ secrets: { 'A=B': { file: '/a' } } }],
  [{ secrets: [] }],
  [{ filterEnv: 'A=B' }],
  [{ filterEnv: [1] }],
  [{ incrementVar: '' }],
  [{ envFiles: '/a' }],
  [{ fileEnv: [{ file: '/a' }] }],
])('an invalid field is refused: %o', (fields) => {
  expect(() => checkSpecChange(fields)).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_BAD_SPEC' }));
});

test('a spec of an earlier version is completed', () => {
  const old = Object.fromEntries(
    Object.entries(checkSpec(least)).filter(
      ([key]) =>
        !['interpreterEnv', 'fileEnv', 'filterEnv', 'secrets', 'incrementVar', 'ownerEnv', 'envFiles'].includes(key),
    ),
  );
  expect(flatten(listLayers(completeSpec(old), { id: 7, slot: 2 }, '/h'))).toEqual(OWN);
});
