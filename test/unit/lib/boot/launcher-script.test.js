import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { launcherScript } from '../../../../lib/boot/launcher-script.js';

let root;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nclust launcher-'));
});

function place(path) {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\necho "${path}" "$@"\necho "$NCLUST_HOME"\n`);
  chmodSync(file, 0o755);
  return file;
}

function launch({ node = join(root, 'gone/bin/node'), path = '/nowhere', words = ['ls'], ...env } = {}) {
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const main = join(root, 'nclust.js');
  writeFileSync(main, '');
  const file = join(root, 'launcher.sh');
  // Removes the folders of the system, in which the script looks last, because this machine may
  // have its own node there.
  writeFileSync(
    file,
    launcherScript({ home: join(root, 'home'), userHome: root, node, main, env }).replace(
      /:\/usr\/local\/sbin:[^"]*/,
      '',
    ),
  );
  const { status, stdout, stderr } = spawnSync('/bin/sh', [file, ...words], {
    encoding: 'utf8',
    env: { PATH: `${path}:${toolFolder()}` },
  });
  return { status, ran: stdout.replaceAll(`${root}/`, '').trim().split('\n'), stderr };
}

function toolFolder() {
  const file = join(root, 'tools/awk');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin exec awk "$@"\n');
  chmodSync(file, 0o755);
  return dirname(file);
}

test('the launcher runs the Node.js that installed it, in the home it was installed for', () => {
  place('.nvm/versions/node/v99.0.0/bin/node');
  expect(launch({ node: place('n/v20.1.0/bin/node') })).toMatchObject({
    status: 0,
    ran: ['n/v20.1.0/bin/node nclust.js ls', 'home'],
  });
});

test('without that Node.js it runs the newest one of nvm', () => {
  for (const version of ['v18.20.0', 'v20.9.0', 'v20.10.0', 'v9.0.0']) place(`.nvm/versions/node/${version}/bin/node`);
  expect(launch().ran[0]).toBe('.nvm/versions/node/v20.10.0/bin/node nclust.js ls');
});

test.each([
  ['fnm', '.local/share/fnm/node-versions/v22.1.0/installation/bin/node'],
  ['volta', '.volta/tools/image/node/22.1.0/bin/node'],
  ['asdf', '.asdf/installs/nodejs/22.1.0/bin/node'],
  ['mise', '.local/share/mise/installs/node/22.1.0/bin/node'],
])('without that Node.js it runs the newest one of %s', (_, path) => {
  place(path);
  place('.nvm/versions/node/v21.0.0/bin/node');
  expect(launch().ran[0]).toBe(`${path} nclust.js ls`);
});

test('it finds a version manager in a folder of its own', () => {
  place('opt/nvm/versions/node/v24.0.0/bin/node');
  expect(launch({ NVM_DIR: join(root, 'opt/nvm') }).ran[0]).toBe('opt/nvm/versions/node/v24.0.0/bin/node nclust.js ls');
});

test('without a version manager it runs the Node.js in PATH', () => {
  place('.nvm/versions/node/v18.0.0/bin/node');
  const file = place('bin/node');
  expect(launch({ path: dirname(file) }).ran[0]).toBe('bin/node nclust.js ls');
});

test('the script fails without any Node.js, and reports the reason', () => {
  expect(launch()).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/Node\.js 20 or later is no longer installed.*nclust startup/),
  });
});

test('an nclust that was removed with its Node.js is found beside the next Node.js', () => {
  const file = place('.nvm/versions/node/v22.0.0/bin/node');
  const main = join(dirname(file), '../lib/node_modules/nclust/bin/nclust.js');
  mkdirSync(dirname(main), { recursive: true });
  writeFileSync(main, '');
  const script = launcherScript({ home: root, userHome: root, node: '/gone/node', main: '/gone/nclust.js', env: {} });
  writeFileSync(join(root, 'l.sh'), script);
  const { stdout } = spawnSync('/bin/sh', [join(root, 'l.sh'), 'ls'], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  expect(stdout).toContain('v22.0.0/lib/node_modules/nclust/bin/nclust.js ls');
});

test('the manager in the foreground gets its usual flags', () => {
  expect(launch({ node: place('bin/node'), words: ['daemon'] }).ran[0]).toMatch(
    /^bin\/node --max-semi-space-size=1 --expose-gc nclust\.js daemon$/,
  );
});

test.each(['/home/ann', '/home/my user', '/home/a}b', '/home/"$x"`y`', "/home/it's", '/home/a\\b'])(
  'a service without HOME uses the home of its user: %s',
  (userHome) => {
    const main = join(root, 'nclust.js');
    writeFileSync(main, '');
    const script = launcherScript({ home: root, userHome, node: '/bin/sh', main, env: {} }).replace(
      'exec "$node" "$main" "$@"',
      'printf %s "$HOME"',
    );
    const run = (env) => spawnSync('/bin/sh', ['-c', script, 'sh', 'ls'], { encoding: 'utf8', env }).stdout;
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    expect([
      run({ PATH: '/usr/bin:/bin' }),
      run({ PATH: '/usr/bin:/bin', HOME: '' }),
      run({ HOME: '/elsewhere' }),
    ]).toEqual([userHome, userHome, '/elsewhere']);
  },
);
