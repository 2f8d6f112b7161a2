import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isServeApp, serveApp, staticSite } from '../../../../../lib/config/file/static-site.js';
import { readServeSettings, serveScript, readVariables } from '../../../../../lib/serve/options.js';

const settingsOf = (entry) => readServeSettings(readVariables(staticSite(entry).env));

test('staticSite turns an entry into an app whose variables are the settings of the server', () => {
  const entry = {
    name: 'site',
    path: './public',
    port: 3000,
    host: '127.0.0.1',
    spa: true,
    ftp: false,
    basic_auth: { username: 'ann', password: 'secret' },
    monitor: true,
    instances: 2,
    env: { COLOUR: 'red' },
  };
  expect(staticSite(entry)).toMatchObject({
    name: 'site',
    script: serveScript(),
    instances: 2,
    env: { COLOUR: 'red', PM2_SERVE_PATH: './public' },
  });
  expect(Object.keys(staticSite(entry)).sort()).toEqual(['env', 'instances', 'name', 'script', 'wait_ready']);
  expect(settingsOf(entry)).toEqual({
    path: './public',
    port: 3000,
    host: '127.0.0.1',
    isSpa: true,
    hasListing: false,
    homepage: 'index.html',
    credentials: { username: 'ann', password: 'secret' },
    cache: '',
    cors: '',
  });
});

test('an empty entry serves the folder on port 8080, on every address', () => {
  expect(staticSite({}).name).toBe('static-page-server-8080');
  expect(settingsOf({})).toEqual({
    path: '.',
    port: 8080,
    host: '0.0.0.0',
    isSpa: false,
    hasListing: false,
    homepage: 'index.html',
    credentials: null,
    cache: '',
    cors: '',
  });
});

test.each([
  [{ port: '3000' }, { port: 3000 }],
  [{ directory: './dist' }, { path: './dist', hasListing: false }],
  [{ directory: true }, { path: '.', hasListing: true }],
  [
    { path: './a', directory: 'true' },
    { path: './a', hasListing: true },
  ],
  [{ homepage: '/app.html' }, { homepage: 'app.html' }],
  [
    { cors: true, cache: '1h' },
    { cors: '*', cache: '1h' },
  ],
  [{ env: { PM2_SERVE_SPA: 'true', PM2_SERVE_PORT: '81' } }, { isSpa: true, port: 81 }],
])('the entry %j means %j', (entry, settings) => {
  expect(settingsOf(entry)).toMatchObject(settings);
});

test.each([
  [{ port: 0 }, 'static[1].port is 0'],
  [{ port: '80a' }, 'static[1].port is "80a"'],
  [{ spa: 'yes' }, 'static[1].spa is "yes"'],
  [{ path: '' }, 'static[1].path is ""'],
  [{ homepage: '../x.html' }, 'static[1].homepage is "../x.html"'],
  [{ basic_auth: { username: 'ann' } }, 'static[1].basic_auth.password is ""'],
  [{ basic_auth: {} }, 'static[1].basic_auth.username is ""'],
  [{ basic_auth: { username: 'a:b', password: 'x' } }, 'static[1].basic_auth.username is "a:b"'],
  [{ basic_auth: true }, 'static[1].basic_auth is true'],
  [{ cache: 'ever' }, 'static[1].cache is "ever"'],
  ['./public', 'static[1] is "./public"'],
])('the entry %j is refused with its key path', (entry, message) => {
  expect(() => staticSite(entry, 'static[1]')).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_USAGE', message: expect.stringContaining(message) }),
  );
});

test('the error about an entry does not contain the password', () => {
  expect(() => staticSite({ basic_auth: { username: '', password: 'secret' } })).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  );
});

test.each([
  [{ PM2_SERVE_BASIC_AUTH: 'true' }],
  [{ PM2_SERVE_BASIC_AUTH: 'true', PM2_SERVE_BASIC_AUTH_USERNAME: 'ann' }],
  [{ PM2_SERVE_BASIC_AUTH_USERNAME: 'ann' }],
  [{ PM2_SERVE_BASIC_AUTH_PASSWORD: 'secret' }],
])('incomplete credentials are refused, and do not serve without a password: %j', (env) => {
  expect(() => readServeSettings(readVariables(env))).toThrow(/PM2_SERVE_BASIC_AUTH_(USERNAME|PASSWORD) is ""/);
});

test('an app with script: "serve" becomes the static server, as in PM2', () => {
  const app = { script: 'serve', env: { PM2_SERVE_PATH: './dist', PM2_SERVE_PORT: 3000 } };
  expect(isServeApp(app)).toBe(true);
  expect(isServeApp({ script: './serve' })).toBe(false);
  expect(isServeApp({ script: 'serve', interpreter: 'bash' })).toBe(false);
  expect(serveApp(app)).toEqual({ ...app, waitReady: true, script: serveScript(), name: 'static-page-server-3000' });
});

test.each([[{ path: '~/cf' }], [{ directory: '~/cf' }], [{ env: { PM2_SERVE_PATH: '~/cf' } }]])(
  '%j: ~ is the home directory',
  (entry) => {
    expect(staticSite(entry).env.PM2_SERVE_PATH).toBe(join(homedir(), 'cf'));
    expect(readServeSettings(readVariables({ PM2_SERVE_PATH: '~/cf' })).path).toBe(join(homedir(), 'cf'));
  },
);
