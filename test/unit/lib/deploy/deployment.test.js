import { expect, test } from 'vitest';
import { sshArguments } from '../../../../lib/deploy/remote.js';
import { checkRef, readDeployment } from '../../../../lib/deploy/deployment.js';

const LEAST = { host: 'web1', ref: 'origin/main', repo: 'git@example.com:app.git', path: '/srv/app' };
const AROUND = { file: 'ecosystem.config.js', postDeploy: 'nclust startOrReload' };

const read = (more) => readDeployment({ production: { ...LEAST, ...more } }, 'production', AROUND);

test('readDeployment fills in the defaults of the keys that are not required', () => {
  expect(read({})).toEqual({
    warnings: [],
    deployment: {
      name: 'production',
      user: null,
      hosts: ['web1'],
      port: null,
      key: null,
      sshOptions: [],
      ref: 'origin/main',
      repo: LEAST.repo,
      path: '/srv/app',
      env: {},
      shared: [],
      releases: 5,
      hooks: {
        'pre-setup': '',
        'post-setup': '',
        'pre-deploy-local': '',
        'pre-deploy': '',
        'post-deploy': 'nclust startOrReload',
      },
    },
  });
});

test.each([
  ['a user', { user: 'ann' }, ['ann@web1', 'true']],
  [
    'a port, a key and options',
    { port: '22', key: '/k', ssh_options: 'A=b' },
    ['-p', '22', '-i', '/k', '-o', 'A=b', 'web1', 'true'],
  ],
])('ssh gets %s', (_what, more, args) => {
  expect(sshArguments(read(more).deployment, 'web1', 'true')).toEqual(args);
});

test.each([
  ['host', ''],
  ['host', []],
  ['host', ['a', 'a']],
  ['host', '-oProxyCommand=x'],
  ['host', ['a', '-x']],
  ['host', 'a b'],
  ['user', '-x'],
  ['user', 'a@b'],
  ['user', ''],
  ['port', 0],
  ['port', 'x'],
  ['ref', '-x'],
  ['ref', 'a b'],
  ['ref', 'a..b'],
  ['repo', '--upload-pack=x'],
  ['path', ''],
  ['path', '/'],
  ['path', '-x'],
  ['path', '~ann/x'],
  ['path', 'a\nb'],
  ['ssh_options', ['']],
  ['ssh_options', 7],
  // Messages hide values of variables, because they may be passwords.
  ['env', { TOKEN: 'hunter2', 'A B': 'hunter2' }, '{"A B":"…"}'],
  ['env', { TOKEN: ['hunter2'] }, '{"TOKEN":"…"}'],
  ['env', { nclust_root: '/' }, '{"nclust_root":"…"}'],
  ['env', 'TOKEN=hunter2', 'a string'],
  ['env', ['hunter2'], 'a list'],
  ['shared', 'x'],
  ['shared', ['../x']],
  ['shared', ['/x']],
  ['shared', ['.git']],
  ['releases', 0],
  ['releases', '5'],
  ['post-deploy', ['x']],
])('readDeployment refuses %s: %j', (key, value, shown = JSON.stringify(value)) => {
  expect(() => read({ [key]: value })).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_DEPLOY_BAD_CONFIG',
      message: expect.stringContaining(`deploy.production.${key} is ${shown}; accepted: `),
    }),
  );
});

test('readDeployment reports all missing and wrong keys in one message', () => {
  const fault = () => readDeployment({ production: { port: 'x', user: '-x' } }, 'production', AROUND);
  for (const key of ['host is missing', 'ref is missing', 'repo is missing', 'path is missing', 'port is', 'user is'])
    expect(fault).toThrow(`deploy.production.${key}`);
});

test.each([[null], [{}], [{ production: 'x' }], [{ staging: LEAST }]])(
  'readDeployment refuses a config without the environment: %j',
  (deploy) => {
    expect(() => readDeployment(deploy, 'production', AROUND)).toThrow('no object deploy.production');
  },
);

test('readDeployment warns of an unknown key, with a suggestion, and of an install after the switch', () => {
  expect(read({ 'post-deploi': 'x' }).warnings).toEqual([
    'deploy.production.post-deploi is unknown and ignored; did you mean "post-deploy"?',
  ]);
  expect(read({ 'post-deploy': 'npm ci && nclust reload all' }).warnings).toEqual([
    expect.stringContaining('pre-deploy, where a failure changes nothing'),
  ]);
  expect(read({ 'pre-deploy': 'npm ci', 'post-deploy': 'nclust reload all' }).warnings).toEqual([]);
});

test.each([
  'pm2 reload ecosystem.config.js --env production',
  'npm run build && pm2 reload all',
  'NODE_ENV=production /usr/local/bin/pm2 save',
  'cd app; sudo pm2 restart api',
  'npx -y pm2 ls',
  'sudo -u deploy pm2 reload api',
  'if ! pm2 ping; then true; fi',
  "bash -lc 'pm2 reload api'",
])('readDeployment warns of a hook that calls pm2: %s', (hook) => {
  expect(read({ 'post-deploy': hook }).warnings).toEqual([
    'deploy.production.post-deploy seems to call pm2, but nclust manages the apps. Write nclust in its place.',
  ]);
});

test.each(['nclust import pm2 --live', 'cat /srv/.pm2/dump.pm2', 'nclust reload pm2.config.js'])(
  'readDeployment does not warn of a hook that only names pm2: %s',
  (hook) => {
    expect(read({ 'post-deploy': hook }).warnings).toEqual([]);
  },
);

test.each(['--help', 'a b', 'HEAD~1', ''])('checkRef refuses %j', (ref) => {
  expect(() => checkRef(ref)).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_USAGE' }));
});
