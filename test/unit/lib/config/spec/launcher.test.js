import { expect, test } from 'vitest';
import { warnAboutCluster } from '../../../../../lib/config/spec/launcher.js';

const warn = (spec, options = {}) =>
  warnAboutCluster({ name: 'api', mode: 'fork', interpreter: 'none', instances: 2, ...spec }, options);
const cluster = { execMode: 'cluster' };

test.each([
  [{ script: '/usr/bin/npm', mode: 'cluster' }, cluster, 'npm'],
  [{ script: '/usr/lib/node_modules/npm/bin/npm-cli.js', mode: 'cluster', instances: 1 }, cluster, 'npm'],
  [{ script: '/usr/bin/npm', mode: 'cluster' }, {}, 'npm'],
  [{ script: 'npm run serve', interpreter: '/bin/sh' }, {}, 'npm'],
  [{ script: '/usr/share/yarn/bin/yarn.js', mode: 'cluster' }, {}, 'yarn'],
  [{ script: 'pnpm start', interpreter: '/bin/sh' }, {}, 'pnpm'],
])('%j with %j gets the advice to start the script itself', (spec, options, launcher) => {
  expect(warn(spec, options)).toEqual([
    `Instances of "api" cannot share a port, because ${launcher} starts the script as a child process. ` +
      `Start the script itself, not ${launcher}.`,
  ]);
});

test.each([
  [
    { script: '/srv/api.js', interpreter: '/srv/node_modules/.bin/babel-node' },
    ' Start the script itself, not babel-node.',
  ],
  [{ script: 'yarn start', interpreter: '/bin/sh' }, ' Start the script itself, not yarn.'],
  [{ script: '/srv/api.py', interpreter: '/usr/bin/python3' }, ''],
])('%j in cluster mode runs in fork mode, with a reason%s', (spec, advice) => {
  expect(warn(spec, cluster)).toEqual([
    '"api" runs in fork mode, although its exec_mode is cluster: only Node.js programs can share a port that ' +
      `way.${advice}`,
  ]);
});

test.each([
  [{ script: '/srv/npm/api.js', mode: 'cluster', interpreter: '/usr/bin/node' }, {}],
  [{ script: 'npm start', interpreter: '/bin/sh', instances: 1 }, {}],
  [{ script: 'npm start', interpreter: '/bin/sh' }, { execMode: 'fork' }],
  [{ script: '/srv/api.py', interpreter: '/usr/bin/python3' }, {}],
])('%j with %j needs no warning', (spec, options) => {
  expect(warn(spec, options)).toEqual([]);
});
