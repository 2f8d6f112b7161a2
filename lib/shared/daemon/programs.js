// Knows programs by their names: Node.js, launchers, and programs without the channel.
import { basename } from 'node:path';

const wordSet = (/** @type {string} */ words) => new Set(words.split(/\s+/));

/** Programs that do not know process.send(), or that close the channel. */
const WITHOUT_CHANNEL = wordSet(
  `python pypy ruby perl php php-fpm lua java dotnet julia Rscript gunicorn uvicorn celery flask puma rails bundle
   sudo su doas runuser setpriv gosu su-exec chpst setuidgid s6-setuidgid capsh chroot bwrap`,
);
/** Programs that start a Node.js script, mostly as a child process, and pass the channel on or take it. */
const LAUNCHERS = {
  passing: wordSet('tsx ts-node ts-node-dev babel-node nodemon'),
  taking: wordSet('npm npx yarn yarnpkg pnpm pnpx bunx corepack cross-env cross-env-shell dotenv env-cmd concurrently'),
};

/**
 * @param {string} path
 * @returns {string}  Without a version, an extension of JavaScript, and "-cli".
 */
export function programName(path) {
  return basename(path)
    .replace(/(-cli)?\.[cm]?js$|-cli$/, '')
    .replace(/(?<=\w)-?\d[\d.]*$/, '');
}

/** @param {string} path */
export function isNode(path) {
  return /^node(js)?(-?\d[\d.]*)?$/.test(basename(path));
}

/** @param {string} path */
export function isLauncher(path) {
  return LAUNCHERS.passing.has(programName(path)) || takesChannel(path);
}

/** @param {string} path */
export function takesChannel(path) {
  return LAUNCHERS.taking.has(programName(path));
}

/** @param {string} path */
export function isWithoutChannel(path) {
  return WITHOUT_CHANNEL.has(programName(path));
}
