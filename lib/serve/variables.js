import { fileURLToPath } from 'node:url';

/**
 * How a folder is served.
 * @typedef {object} ServeSettings
 * @property {string} path  The folder. A relative one counts from where the server runs.
 * @property {number} port
 * @property {string} host  The address it listens on.
 * @property {boolean} isSpa  Pages that have no file get the home page.
 * @property {boolean} hasListing  A folder without a home page is listed.
 * @property {string} homepage  The file a folder is represented by.
 * @property {{username: string, password: string}|null} credentials
 * @property {string} cache  "" for the rules of cache-control.js, "none", or a duration.
 * @property {string} cors  "" or the origin that pages of other sites may come from; "*" for all.
 */

export const DEFAULT_PORT = 8080;
export const DEFAULT_HOST = '0.0.0.0';
export const DEFAULT_HOMEPAGE = 'index.html';

/** The program that serves. */
export const serveScript = () => fileURLToPath(new URL('./main.js', import.meta.url));

/** @param {number} port */
export const defaultServeName = (port) => `static-page-server-${port}`;

/**
 * The settings as the variables that main.js reads: those of PM2, so that a config file which sets them by hand works, and two more. All of them are
 * there, because one that is missing would be taken from the shell.
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
