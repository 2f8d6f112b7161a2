import { beforeAll, afterAll, expect, test } from 'vitest';
import { openSandbox } from '../helpers/sandbox.js';

// These tests only read, so they share a home.
let home;

beforeAll(async () => {
  home = openSandbox();
  const script = home.place('keeps-alive');
  const other = home.place('keeps-alive', 'other.js');
  const start = (...words) => home.nclust('start', ...words, '--no-wait');
  await start(script, '--name', 'api', '-i', '2', '--namespace', 'shop'); // 0 and 1
  await start(script, '--name', 'api-admin', '--namespace', 'shop'); // 2
  await start(other, '--name', 'worker'); // 3
  await start(other, '--name', '7', '--namespace', 'jobs'); // 4
  await start(other, '--name', 'late', '--namespace', 'api'); // 5
});

afterAll(() => home.close());

test.each([
  ['a name', ['worker'], [3]],
  ['a name that is also a namespace', ['api'], [0, 1]],
  ['a namespace', ['shop'], [0, 1, 2]],
  ['a number that is an app name', ['7'], [4]],
  ['a number that is an id', ['2'], [2]],
  ['a regular expression', ['/^api/'], [0, 1, 2]],
  ['a regular expression that ignores case', ['/ADMIN/i'], [2]],
  ['the path of a script', ['./other.js'], [3, 4, 5]],
  ['all', ['all'], [0, 1, 2, 3, 4, 5]],
  ['several targets', ['worker', '0', 'jobs'], [0, 3, 4]],
  ['several targets that overlap', ['api', '1'], [0, 1]],
])('%s selects the right processes', async (_, words, ids) => {
  const result = await home.nclust('describe', ...words, '--json');
  expect(result).toMatchObject({ exitStatus: 0 });
  expect(
    result
      .json()
      .map((slot) => slot.id)
      .sort(),
  ).toEqual(ids);
});

test.each([
  ['an unknown name', 'wroker'],
  ['an unknown id', '99'],
  ['a regular expression that matches nothing', '/zzz/'],
])('%s exits 1 and names the target', async (_, word) => {
  const result = await home.nclust('restart', word);
  expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
  expect(result.stderr).toContain(word);
});

test('the error for an unknown name suggests a similar one', async () => {
  expect((await home.nclust('describe', 'wroker')).stderr).toMatch(/worker/);
});

test('all exits 1 if there are no apps, as in PM2', async () => {
  const empty = openSandbox();
  try {
    expect(await empty.nclust('stop', 'all')).toMatchObject({ exitStatus: 1 });
  } finally {
    await empty.close();
  }
});
