import { expect, test } from 'vitest';
import { isServeApp, serveApp, staticSite } from '../../../../../lib/config/file/static-site.js';
import { readServeSettings, serveScript, readVariables } from '../../../../../lib/serve/settings.js';

/**
 * The server's settings for an entry.
 * @param {Record<string, any>} entry
 */
const settingsOf = (entry) => readServeSettings(readVariables(staticSite(entry).env));

test('an entry becomes an app, and the server reads from its variables what the entry said', () => {
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

test('an entry that says nothing serves the folder on 8080, on every address', () => {
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
])('%j means %j', (entry, settings) => {
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
])('%j is refused, and the message says where', (entry, message) => {
  expect(() => staticSite(/** @type {any} */ (entry), 'static[1]')).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_USAGE', message: expect.stringContaining(message) }),
  );
});

test('a password is never in a message', () => {
  expect(() => staticSite({ basic_auth: { username: '', password: 'secret' } })).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  );
});

test.each([
  [{ PM2_SERVE_BASIC_AUTH: 'true' }],
  [{ PM2_SERVE_BASIC_AUTH: 'true', PM2_SERVE_BASIC_AUTH_USERNAME: 'ann' }],
  [{ PM2_SERVE_BASIC_AUTH_USERNAME: 'ann' }],
  [{ PM2_SERVE_BASIC_AUTH_PASSWORD: 'secret' }],
])('half of what a lock needs is no open door: %j', (env) => {
  expect(() => readServeSettings(readVariables(env))).toThrow(/PM2_SERVE_BASIC_AUTH_(USERNAME|PASSWORD) is ""/);
});

test('script: "serve" is PM2\'s way of saying it in the list of apps', () => {
  const app = { script: 'serve', env: { PM2_SERVE_PATH: './dist', PM2_SERVE_PORT: 3000 } };
  expect(isServeApp(app)).toBe(true);
  expect(isServeApp({ script: './serve' })).toBe(false);
  expect(isServeApp({ script: 'serve', interpreter: 'bash' })).toBe(false);
  expect(serveApp(app)).toEqual({ ...app, waitReady: true, script: serveScript(), name: 'static-page-server-3000' });
});
