import { fileURLToPath } from 'node:url';
import { isFilled } from '../app-spec/kinds.js';
import { badOption, expandHome, reader } from '../app-spec/values.js';
import { DURATION_FORMS, parseDuration } from '../shared/units.js';

/**
 * Settings before validation.
 * @typedef {{ [K in keyof typeof VARIABLES]?: unknown }} ServeOptions
 */

export const VARIABLES = {
  path: 'PM2_SERVE_PATH',
  port: 'PM2_SERVE_PORT',
  host: 'PM2_SERVE_HOST',
  spa: 'PM2_SERVE_SPA',
  ftp: 'PM2_SERVE_FTP',
  homepage: 'PM2_SERVE_HOMEPAGE',
  basicAuth: 'PM2_SERVE_BASIC_AUTH',
  username: 'PM2_SERVE_BASIC_AUTH_USERNAME',
  password: 'PM2_SERVE_BASIC_AUTH_PASSWORD',
  cache: 'NCLUST_SERVE_CACHE',
  cors: 'NCLUST_SERVE_CORS',
};

/**
 * @param {Record<string, string | undefined>} env
 * @returns {ServeOptions}
 */
export function readVariables(env) {
  return Object.fromEntries(
    Object.entries(VARIABLES)
      .filter(([, name]) => env[name])
      .map(([key, name]) => [key, env[name]]),
  );
}

/**
 * @param {ServeOptions} options
 * @param {(key: keyof ServeOptions) => string} [nameOf]  For messages.
 * @returns {ServeSettings}
 */
export function readServeSettings(options, nameOf = (key) => VARIABLES[key]) {
  return {
    path: expandHome(asFilled(options.path ?? '.', nameOf('path'))),
    port: asPort(options.port ?? DEFAULT_PORT, nameOf('port')),
    host: asFilled(options.host ?? DEFAULT_HOST, nameOf('host')),
    isSpa: asSwitch(options.spa ?? false, nameOf('spa')),
    hasListing: asSwitch(options.ftp ?? false, nameOf('ftp')),
    homepage: asHomepage(options.homepage ?? DEFAULT_HOMEPAGE, nameOf('homepage')),
    credentials: asCredentials(options, nameOf),
    cache: asCache(options.cache ?? '', nameOf('cache')),
    cors: asOrigin(options.cors ?? '', nameOf('cors')),
  };
}

const FILLED_FORMS = 'a text that is not empty';

const { read: asFilled } = reader(FILLED_FORMS, (value) => (isFilled(value) ? value : undefined));

const { read: asPort } = reader('a port from 1 to 65535', (value) => {
  const port = /^\d{1,5}$/.test(String(value)) ? Number(value) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
});

const { read: asSwitch } = reader('true or false', (value) => {
  if ([true, 'true', '1'].includes(/** @type {any} */ (value))) return true;
  return [false, 'false', '0'].includes(/** @type {any} */ (value)) ? false : undefined;
});

/**
 * @param {unknown} value
 * @param {string} name
 */
function asHomepage(value, name) {
  const file = asFilled(value, name).replace(/^(\.?\/)+/, '');
  if (file !== '' && !file.split(/[/\\]/).some((part) => part === '' || part.startsWith('.'))) return file;
  throw badOption(name, value, 'the path of a file inside the folder, such as "index.html"');
}

/**
 * Throws if a password is wanted and the user name or the password is missing or unusable, so that
 * the folder is not served without a password by mistake. Returns null if no password is wanted.
 * @param {ServeOptions} options
 * @param {(key: keyof ServeOptions) => string} nameOf
 */
function asCredentials({ basicAuth, username, password }, nameOf) {
  const isWanted =
    basicAuth === undefined
      ? username !== undefined || password !== undefined
      : asSwitch(basicAuth, nameOf('basicAuth'));
  if (!isWanted) return null;
  const user = asFilled(username ?? '', nameOf('username'));
  if (user.includes(':'))
    throw badOption(nameOf('username'), user, 'a name without ":", because ":" ends the name in a request');
  if (typeof password === 'string' && password !== '') return { username: user, password };
  throw badOption(nameOf('password'), '', FILLED_FORMS);
}

const { read: asCache } = reader(`"none", or ${DURATION_FORMS}`, (value) => {
  const text = String(value);
  return text === '' || text === 'none' || parseDuration(text) !== null ? text : undefined;
});

const { read: asOrigin } = reader('"*", or an origin such as "https://example.com"', (value) => {
  if (value === true || value === 'true') return '*';
  if (value === false || value === 'false') return '';
  return /^(\*|https?:\/\/[^\s/]+)?$/.test(String(value)) ? String(value) : undefined;
});

/**
 * @typedef {object} ServeSettings
 * @property {string} path  The folder, absolute or relative to the working directory of the server.
 * @property {number} port
 * @property {string} host
 * @property {boolean} isSpa  Send the home page for a page that does not exist.
 * @property {boolean} hasListing  List a folder without a home page.
 * @property {string} homepage  The file to send for a folder.
 * @property {{ username: string, password: string } | null} credentials
 * @property {string} cache  "none", a duration, or "" for the default of handler.js.
 * @property {string} cors  Origin of a site whose pages may read the files. "*": all. "": no site.
 */

const DEFAULT_PORT = 8080;
const DEFAULT_HOST = '0.0.0.0';
const DEFAULT_HOMEPAGE = 'index.html';

export const serveScript = () => fileURLToPath(new URL('./main.js', import.meta.url));

/** @param {number} port */
export const defaultServeName = (port) => `static-page-server-${port}`;

/**
 * Variables that PM2 has too keep their names, because a config file may set them. Returns every
 * variable, because main.js would take a missing variable from the shell.
 * @param {ServeSettings} settings
 * @returns {Record<string, string>}
 */
export function serveVariables({ path, port, host, isSpa, hasListing, homepage, credentials, cache, cors }) {
  return {
    PM2_SERVE_PATH: path,
    PM2_SERVE_PORT: String(port),
    PM2_SERVE_HOST: host,
    PM2_SERVE_SPA: String(isSpa),
    PM2_SERVE_FTP: String(hasListing),
    PM2_SERVE_HOMEPAGE: homepage,
    PM2_SERVE_BASIC_AUTH: String(credentials !== null),
    PM2_SERVE_BASIC_AUTH_USERNAME: credentials?.username ?? '',
    PM2_SERVE_BASIC_AUTH_PASSWORD: credentials?.password ?? '',
    NCLUST_SERVE_CACHE: cache,
    NCLUST_SERVE_CORS: cors,
  };
}
