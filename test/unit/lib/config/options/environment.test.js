import { expect, test } from 'vitest';
import { findAttribute } from '../../../../../lib/app-spec/table.js';
import { checkSpecChange } from '../../../../../lib/app-spec/check.js';

const read = (name, value) => findAttribute(name).read(value, `apps[0].${name}`);

test.each([
  ['env_file', '.env', ['.env']],
  ['env_file', ['.env', '/etc/b.env'], ['.env', '/etc/b.env']],
  ['env_file', ['none'], []],
  ['env_file', false, []],
  [
    'secrets',
    { A: '/run/a', B: { file: 'b' }, C: { command: 'get c' } },
    { A: { file: '/run/a' }, B: { file: 'b' }, C: { command: 'get c' } },
  ],
  ['secrets', null, {}],
  ['filter_env', true, true],
  ['filter_env', false, false],
  ['filter_env', 'TOKEN', 'TOKEN'],
  ['filter_env', ['TOKEN', 'AWS_'], ['TOKEN', 'AWS_']],
  ['increment_var', 'PORT', 'PORT'],
  ['increment_var', 'none', null],
  ['instance_var', 'WORKER', 'WORKER'],
])('the attribute %s may be %o', (name, value, expected) => {
  expect(read(name, value)).toEqual(expected);
  expect(() => checkSpecChange({ [findAttribute(name).field]: expected })).not.toThrow();
});

test.each([
  ['env_file', 7, /apps\[0\]\.env_file is 7; accepted: a path, or a list of paths/],
  ['env_file', ['a', ' '], /env_file is " "/],
  ['secrets', 'x', /secrets is a text; accepted: an object of variables/],
  ['secrets', { A: 7 }, /secrets\.A is a number; accepted: the path of a file, \{ "file"/],
  ['secrets', { A: { value: 'hunter2' } }, /secrets\.A is an object/],
  ['secrets', { A: { file: '/a', command: 'b' } }, /secrets\.A is an object/],
  ['secrets', { A: { command: '' } }, /secrets\.A\.command is a text; accepted: a text that is not empty/],
  ['secrets', { 'A=B': '/a' }, /is "A=B"; accepted: the name of a variable/],
  ['filter_env', 7, /filter_env is 7; accepted: true for all/],
  ['filter_env', ['a', 7], /filter_env is \["a",7\]/],
  ['increment_var', 'A=B', /increment_var is "A=B"; accepted: the name of a variable/],
  ['instance_var', '', /instance_var is ""/],
])('the attribute %s may not be %o', (name, value, message) => {
  expect(() => read(name, value)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_USAGE', message: expect.stringMatching(message) }),
  );
});

test('an error about secrets does not show the value', () => {
  for (const value of [
    { A: 123_456 },
    { A: { value: 'hunter2' } },
    { A: ['hunter2'] },
    { A: { command: 123_456 } },
    ['hunter2'],
  ]) {
    expect(() => read('secrets', value)).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/hunter2|123456/) }),
    );
  }
});
