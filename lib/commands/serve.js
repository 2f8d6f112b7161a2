import { resolve } from 'node:path';
import { carryOut } from '../cli/session/await-change.js';
import { appVersion, buildSpec } from '../config/spec/build.js';
import { readPm2Variables, readOptions } from '../config/options/options.js';
import {
  defaultServeName,
  readServeSettings,
  serveScript,
  serveVariables,
  VARIABLES,
  readVariables,
} from '../serve/options.js';
import { formatAddress } from '../shared/address.js';
import { isFolder } from '../shared/daemon/files.js';
import { readUser } from '../shared/host/as-user.js';
import { checkSpec } from '../app-spec/check.js';
import { NclustError } from '../shared/errors.js';
import { reportChange } from '../cli/session/outcome.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Outcome } from '../cli/session/outcome.js' */
/** @import { ServeOptions } from '../serve/options.js' */

/**
 * The PM2_SERVE_* variables of the shell replace missing options.
 * @param {Context} context
 * @param {string[]} words  The folder and the port.
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}
 */
export async function serve(context, [path, port], options) {
  const { host, spa, ftp, homepage, cache, cors } = options;
  const given = present({
    path,
    port: options.port ?? port,
    host,
    spa,
    ftp,
    homepage,
    cache,
    cors,
    ...readCredentials(options),
  });
  const settings = readServeSettings({ ...readVariables(context.env), ...given }, (key) => {
    if (key in given) return OPTIONS[key];
    const isHalf = 'basicAuth' in given && ['username', 'password'].includes(key);
    return isHalf ? `${OPTIONS[key]} (or ${VARIABLES[key]})` : VARIABLES[key];
  });
  const folder = checkFolder(resolve(context.cwd, settings.path));
  if (options.monitor !== undefined) context.printMessage('--monitor has no effect: nclust has no monitoring service.');

  const read = readOptions('start', options);
  for (const warning of readPm2Variables(context.env).warnings) context.printMessage(warning);
  const built = buildSpec(
    serveScript(),
    [],
    { waitReady: true, ...read, name: read.name ?? defaultServeName(settings.port) },
    context,
  );
  const spec = checkSpec({
    ...built,
    env: { ...built.env, ...serveVariables({ ...settings, path: folder }) },
    version: appVersion(folder, readUser(built)),
  });
  const { force = false } = options;
  const { slots } = await carryOut(context, 'start', { specs: [spec], force }, `Starting ${spec.name}`);
  context.printUnlessJson(`${folder} is served on http://${formatAddress(settings)}`);
  return reportChange(context, slots, 'Started', 'Starting');
}

/** Names of the settings in messages. @type {Record<keyof ServeOptions, string>} */
const OPTIONS = {
  path: 'path',
  port: 'port',
  host: '--host',
  spa: '--spa',
  ftp: '--ftp',
  homepage: '--homepage',
  cache: '--cache',
  cors: '--cors',
  basicAuth: '--basic-auth',
  username: '--basic-auth-username',
  password: '--basic-auth-password',
};

/**
 * A user name or a password turns authentication on.
 * @param {Record<string, any>} options
 */
function readCredentials({ basicAuthUsername: username, basicAuthPassword: password }) {
  return { username, password, basicAuth: username === undefined && password === undefined ? undefined : true };
}

/**
 * @param {ServeOptions} given
 * @returns {ServeOptions}
 */
function present(given) {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** @param {string} folder */
function checkFolder(folder) {
  if (isFolder(folder)) return folder;
  throw new NclustError(
    'ERR_NCLUST_FOLDER_NOT_FOUND',
    `"${folder}" cannot be served: it does not exist, or is not a folder.`,
    { hint: 'Give the folder with the files, for example: nclust serve ./dist 8080' },
  );
}
