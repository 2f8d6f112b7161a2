import compression from 'compression';
import { createGatekeeper } from './basic-auth.js';
import { createCacheControl } from './cache-control.js';
import { listFolder, renderListing } from './listing.js';
import { locate } from './locate.js';
import { encodePath, readRequestPath } from './path.js';
import { sendFile, sendPage } from './respond.js';
import { varyBy } from './vary.js';

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */
/** @typedef {import('./variables.js').ServeSettings} ServeSettings */

/** The custom page for what is not there. */
const NOT_FOUND_PAGE = '404.html';

/**
 * @param {ServeSettings & {path: string}} settings  With an absolute path.
 * @param {(sentence: string) => void} talk  For what is wrong with the machine.
 * @returns {(request: Request, response: Response) => void}
 */
export function createHandler(settings, talk) {
  const mayEnter = settings.credentials ? createGatekeeper(settings.credentials) : () => true;
  const cacheControl = createCacheControl({ cache: settings.cache, isPrivate: settings.credentials !== null });
  // A range counts in the bytes of the file, not in those of its compressed form.
  const compress = compression({ filter: (request, response) => response.statusCode !== 206 && !response.hasHeader('Content-Range') && compression.filter(request, response) });

  return (request, response) => {
    for (const [name, value] of headersFor(settings)) response.setHeader(name, value);
    if (!mayEnter(request.headers.authorization)) return askForPassword(response);
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(response);
    compress(/** @type {any} */ (request), /** @type {any} */ (response), () => {
      answer(request, response, settings, cacheControl).catch((error) => {
        talk(`${request.method} ${request.url}: ${error.message}`);
        sendPage(response, 500);
      });
    });
  };
}

/**
 * @param {Request} request
 * @param {Response} response
 * @param {ServeSettings} settings
 * @param {(file: string) => string} cacheControl
 */
async function answer(request, response, settings, cacheControl) {
  const asked = readRequestPath(request.url ?? '');
  if ('refusal' in asked) return sendPage(response, asked.refusal);
  const { segments, isFolder, query } = asked;
  const found = await locate(settings.path, segments);
  if (found.type === 'file' && !isFolder) return sendFile(request, response, found, cacheControl);
  if (found.type === 'folder') {
    const home = await locate(settings.path, [...segments, ...settings.homepage.split('/')]);
    const isListed = settings.hasListing && home.type !== 'file';
    if ((home.type === 'file' || isListed) && !isFolder) return redirect(response, segments, query);
    if (home.type === 'file') return sendFile(request, response, home, cacheControl);
    if (isListed) return sendPage(response, 200, renderListing(segments, await listFolder(found.root, segments)));
  }
  if (settings.isSpa) varyBy(response, 'Accept');
  if (settings.isSpa && wantsPage(request)) {
    const home = await locate(settings.path, settings.homepage.split('/'));
    if (home.type === 'file') return sendFile(request, response, home, cacheControl);
  }
  const page = await locate(settings.path, [NOT_FOUND_PAGE]);
  if (page.type === 'file') return sendFile(request, response, page, cacheControl, 404);
  return sendPage(response, 404);
}

/** @param {ServeSettings} settings @returns {[string, string][]} */
function headersFor({ cors }) {
  /** @type {[string, string][]} */
  const allowed = cors === '' ? [] : [['Access-Control-Allow-Origin', cors], ...(cors === '*' ? [] : [/** @type {[string, string]} */ (['Vary', 'Origin'])])];
  return [['X-Content-Type-Options', 'nosniff'], ...allowed];
}

/** A browser that goes to a page says text/html; a script or an image that is missing is missing. @param {Request} request */
function wantsPage({ headers }) {
  return (headers.accept ?? '').split(',').some((one) => /^\s*(text\/html|application\/xhtml\+xml)\s*(;(?!.*\bq=0(\.0*)?\s*$)|$)/i.test(one));
}

/** @param {Response} response */
function askForPassword(response) {
  response.setHeader('WWW-Authenticate', 'Basic realm="nclust", charset="UTF-8"');
  sendPage(response, 401);
}

/** The body that comes along is not worth reading. @param {Response} response */
function refuseMethod(response) {
  response.setHeader('Allow', 'GET, HEAD');
  response.setHeader('Connection', 'close');
  sendPage(response, 405);
}

/**
 * @param {Response} response
 * @param {string[]} segments
 * @param {string} query
 */
function redirect(response, segments, query) {
  response.setHeader('Location', `${encodePath(segments)}/${query === '' ? '' : `?${query}`}`);
  response.setHeader('Cache-Control', 'no-cache');
  sendPage(response, 301);
}
