import { isRecord } from '../../shared/is-record.js';
import { badKind, badOption } from '../../app-spec/values.js';
import {
  defaultServeName,
  readServeSettings,
  serveScript,
  serveVariables,
  readVariables,
} from '../../serve/options.js';

/**
 * Turns an entry of `static` into the attributes of an app that serves a folder.
 * @param {Record<string, any>} entry
 * @param {string} [where]  The key path for errors, such as "static[0]".
 * @returns {Record<string, any>}  By attribute name. A relative `path` stays relative.
 */
export function staticSite(entry, where = 'static') {
  if (!isRecord(entry)) throw badOption(where, entry, 'an object such as { path: "./public", port: 8080 }');
  const {
    port,
    host,
    path,
    spa,
    ftp,
    directory,
    homepage,
    cache,
    cors,
    basic_auth: basicAuth,
    monitor: _monitor,
    ...attributes
  } = entry;
  const given = {
    port,
    host,
    path: path ?? findFolder(directory),
    spa,
    ftp: ftp ?? parseSwitch(directory),
    homepage,
    cache,
    cors,
    ...readCredentials(basicAuth, where),
  };
  const serveOptions = {
    ...readVariables(attributes.env ?? {}),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null)),
  };
  const settings = readServeSettings(serveOptions, (key) => `${where}.${KEYS[key] ?? key}`);
  return {
    name: defaultServeName(settings.port),
    wait_ready: true,
    ...attributes,
    script: serveScript(),
    env: { ...attributes.env, ...serveVariables(settings) },
  };
}

/**
 * Whether an app may be PM2's static server. The caller checks for a program called "serve".
 * @param {Record<string, any>} app
 */
export function isServeApp({ script, interpreter }) {
  return script === 'serve' && (interpreter === undefined || interpreter === null);
}

/**
 * Sets `waitReady`, because the static server reports when it listens.
 * @param {Record<string, any>} app  By the keys of options.js.
 * @returns {Record<string, any>}
 */
export function serveApp(app) {
  return {
    waitReady: true,
    ...app,
    script: serveScript(),
    name: app.name ?? defaultServeName(readServeSettings(readVariables(app.env ?? {})).port),
  };
}

/** @type {Record<string, string>} */
const KEYS = { username: 'basic_auth.username', password: 'basic_auth.password', basicAuth: 'basic_auth' };

/**
 * `directory` is either the folder to serve, or a boolean that turns the listing on or off.
 * @param {unknown} directory
 */
function findFolder(directory) {
  return typeof directory === 'string' && !/^(true|false)$/.test(directory) ? directory : undefined;
}

/** @param {unknown} directory */
function parseSwitch(directory) {
  return findFolder(directory) === undefined ? directory : undefined;
}

/**
 * @param {any} given
 * @param {string} where
 */
function readCredentials(given, where) {
  if (given === undefined || given === null || given === false) return {};
  if (!isRecord(given)) throw badKind(`${where}.basic_auth`, given, 'an object with username and password');
  return { basicAuth: true, username: given.username ?? '', password: given.password ?? '' };
}
