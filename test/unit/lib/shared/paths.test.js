import { expect, test } from 'vitest';
import { homePaths, logFile, resolveHome } from '../../../../lib/shared/paths.js';

test.each([
  [{ NCLUST_HOME: '/srv/nclust', HOME: '/home/a' }, '/srv/nclust'],
  [{ NCLUST_HOME: '', HOME: '/home/a' }, '/home/a/.nclust'],
  [{ HOME: '/home/a' }, '/home/a/.nclust'],
  [{ NCLUST_HOME: '/srv/../nclust/' }, '/nclust'],
  [{ NCLUST_HOME: 'here' }, `${process.cwd()}/here`],
])('the home under %j is %j', (env, home) => {
  expect(resolveHome(env)).toBe(home);
});

test('every path is inside the home', () => {
  for (const path of Object.values(homePaths('/h'))) expect(path.startsWith('/h')).toBe(true);
});

test.each([
  ['api', 'out', null, '/l/api-out.log'],
  ['api', 'err', 3, '/l/api-error-3.log'],
  ['sleep 100', 'out', null, '/l/sleep-100-out.log'],
  ['@org/api_v1.2', 'out', 0, '/l/-org-api-v1.2-out-0.log'],
  ['../../etc/passwd', 'out', null, '/l/..-..-etc-passwd-out.log'],
  ['größe', 'err', null, '/l/größe-error.log'],
])('the log of %j (%s, %j) is %j', (name, stream, id, file) => {
  expect(logFile('/l', name, stream, id)).toBe(file);
});
