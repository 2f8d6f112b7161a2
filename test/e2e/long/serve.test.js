import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';
import { askRaw } from '../../helpers/static-server.js';

const basic = (text) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

function site(home) {
  const folder = join(home.work, 'dist');
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.html'), '<h1>home</h1>');
  writeFileSync(join(folder, 'app.js'), 'x()');
  return folder;
}

test('serve with a folder and a port starts an app with its own name, which serves the folder', async () => {
  const home = await sandbox();
  const folder = site(home);
  const port = await takePort();
  const result = await home.nclust('serve', 'dist', String(port), '--spa');
  expect(result).toMatchObject({
    exitStatus: 0,
    stderr: `${folder} is served on http://0.0.0.0:${port}\nStarted "static-page-server-${port}".\n`,
  });
  expect(result.stdout).toContain(`static-page-server-${port}`);
  expect(await askRaw(port, '/')).toMatchObject({ status: 200, body: '<h1>home</h1>' });
  expect(await askRaw(port, '/users/1', { headers: { accept: 'text/html' } })).toMatchObject({
    status: 200,
    body: '<h1>home</h1>',
  });
  expect(await home.list()).toMatchObject([{ name: `static-page-server-${port}`, mode: 'fork', status: 'online' }]);
  expect(await home.nclust('serve', 'dist', String(port))).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('is in the list already'),
  });
});

test('expose works like serve, takes options of start, and passes --port, --host and --ftp to the server', async () => {
  const home = await sandbox();
  site(home);
  mkdirSync(join(home.work, 'dist/files'));
  writeFileSync(join(home.work, 'dist/files/home.htm'), 'named');
  writeFileSync(join(home.work, 'dist/files/a.txt'), 'a');
  const port = await takePort();
  expect(
    await home.nclust(
      'expose',
      './dist',
      '--port',
      String(port),
      '--host',
      '127.0.0.1',
      '--ftp',
      '--cache',
      '1h',
      '--cors',
      '-n',
      'site',
      '-i',
      '2',
      '--monitor',
    ),
  ).toMatchObject({ exitStatus: 0, stderr: expect.stringContaining('--monitor has no effect') });
  expect(await home.list()).toMatchObject([
    { name: 'site', mode: 'cluster', addresses: [{ address: '127.0.0.1', port }] },
    { name: 'site', mode: 'cluster' },
  ]);
  expect((await askRaw(port, '/files/')).body).toContain('href="/files/a.txt"');
  expect((await askRaw(port, '/app.js')).headers).toMatchObject({
    'cache-control': 'public, max-age=3600',
    'access-control-allow-origin': '*',
  });
});

test('serve without arguments serves the current folder, with the PM2_SERVE_* settings of the shell', async () => {
  const home = await sandbox();
  const folder = site(home);
  const port = await takePort();
  const env = { PM2_SERVE_PORT: String(port), PM2_SERVE_BASIC_AUTH_PASSWORD: 'not-in-ps' };
  expect(
    await home.nclust('serve', '--basic-auth-username', 'ann', '--homepage', 'app.js', { cwd: folder, env }),
  ).toMatchObject({ exitStatus: 0 });
  expect(await askRaw(port, '/')).toMatchObject({ status: 401 });
  expect(await askRaw(port, '/', { headers: basic('ann:not-in-ps') })).toMatchObject({ status: 200, body: 'x()' });
  for (const { pid } of home.processes())
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('not-in-ps');

  // A reload from a shell without the password does not remove the password.
  expect(await home.nclust('reload', 'all', '--update-env')).toMatchObject({ exitStatus: 0 });
  expect(await askRaw(port, '/')).toMatchObject({ status: 401 });
});

test.each([
  [['nope', '8080'], 1, /"\/.*\/nope" cannot be served: it does not exist, or is not a folder/],
  [['app.js'], 1, /cannot be served/],
  [['dist', '80000'], 2, /port is "80000"; accepted: a port from 1 to 65535/],
  [['dist', '--basic-auth-username', 'ann'], 2, /--basic-auth-password \(or PM2_SERVE_BASIC_AUTH_PASSWORD\) is ""/],
  [
    ['dist', '--basic-auth-password', 'secret-word'],
    2,
    /--basic-auth-username \(or PM2_SERVE_BASIC_AUTH_USERNAME\) is ""/,
  ],
  [['dist', '--homepage', '../x'], 2, /--homepage is "..\/x"/],
])('serve %j is refused, and no app is started', async (words, exitStatus, message) => {
  const home = await sandbox();
  site(home);
  const result = await home.nclust('serve', ...words);
  expect(result).toMatchObject({ exitStatus, stdout: '', stderr: expect.stringMatching(message) });
  expect(result.stderr).not.toContain('secret-word');
  expect(home.processes()).toEqual([]);
});

test('a taken port is reported with its holder', async () => {
  const home = await sandbox();
  site(home);
  const app = await home.app('http-echo');
  const result = await home.nclust('serve', 'dist', String(app.port), '--host', '::', '--max-restarts', '0');
  expect(result).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(new RegExp(`Port ${app.port} on :: is in use: .*http-echo`)),
  });
});

test('static: and script: "serve" in a config file serve folders, relative to the file', async () => {
  const home = await sandbox();
  const folder = site(home);
  const [one, two] = [await takePort(), await takePort()];
  writeFileSync(
    join(home.work, 'ecosystem.config.cjs'),
    `module.exports = {
    apps: [{ name: 'two', script: 'serve', env: {
      PM2_SERVE_PATH: './dist', PM2_SERVE_PORT: ${two}, PM2_SERVE_SPA: 'true', PM2_SERVE_HOMEPAGE: '/index.html',
    } }],
    static: [{ name: 'one', path: './dist', port: ${one}, basic_auth: { username: 'ann', password: 'secret' } }],
  };\n`,
  );
  expect(await home.nclust('start', join(home.work, 'ecosystem.config.cjs'), { cwd: folder })).toMatchObject({
    exitStatus: 0,
  });
  expect(await askRaw(one, '/')).toMatchObject({ status: 401 });
  expect(await askRaw(one, '/', { headers: basic('ann:secret') })).toMatchObject({
    status: 200,
    body: '<h1>home</h1>',
  });
  expect(await askRaw(two, '/users/1', { headers: { accept: 'text/html' } })).toMatchObject({
    status: 200,
    body: '<h1>home</h1>',
  });
});
