import { nearWords } from '../shared/did-you-mean.js';
import { NclustError } from '../shared/errors.js';
import { isRecord } from '../shared/is-record.js';

/**
 * @typedef {object} Deployment
 * @property {string} name  Of the environment.
 * @property {string | null} user  Null: the user that ssh chooses.
 * @property {string[]} hosts
 * @property {number | null} port
 * @property {string | null} key  File with the private key.
 * @property {string[]} sshOptions  In the form of ssh_config: "StrictHostKeyChecking=no".
 * @property {string} ref
 * @property {string} repo
 * @property {string} path  Folder of the deployment on the hosts.
 * @property {Record<string, string>} env
 * @property {string[]} shared  Paths of path/shared that are linked into each release.
 * @property {number} releases  Number of releases to keep.
 * @property {Record<HookName, string>} hooks  "" for none.
 */

/**
 * @typedef {'pre-setup' | 'post-setup' | 'pre-deploy-local' | 'pre-deploy' | 'post-deploy'}
 *   HookName
 */

const HOOKS = /** @type {HookName[]} */ (['pre-setup', 'post-setup', 'pre-deploy-local', 'pre-deploy', 'post-deploy']);

const REQUIRED = ['host', 'ref', 'repo', 'path'];

const RELEASES_KEPT = 5;

/** @typedef {{ accepts: (value: any) => boolean, accepted: string }} Rule */

/** @type {Record<string, Rule>} */
const RULES = {
  user: { accepts: (value) => isWord(value) && !value.includes('@'), accepted: 'the name of a user' },
  host: {
    accepts: (value) =>
      Array.isArray(value)
        ? value.length > 0 && value.every(isWord) && new Set(value).size === value.length
        : isWord(value),
    accepted: 'a host, or a list of different ones',
  },
  port: {
    accepts: (value) => /^\d{1,5}$/.test(String(value)) && Number(value) >= 1 && Number(value) <= 65_535,
    accepted: 'a port from 1 to 65535',
  },
  key: { accepts: isFilled, accepted: 'the path of a file' },
  ssh_options: {
    accepts: (value) => (Array.isArray(value) ? value.every(isFilled) : isFilled(value)),
    accepted: 'an option of ssh_config such as "StrictHostKeyChecking=no", or a list of them',
  },
  ref: { accepts: isRef, accepted: 'a branch, a tag or a commit, such as "origin/main"' },
  repo: { accepts: isWord, accepted: 'the address of a git repository' },
  path: {
    accepts: (value) => isFilled(value) && !value.startsWith('-') && !/^~[^/]/.test(value) && !/^\/*$/.test(value),
    accepted: 'a folder on the host, absolute or from the home ("~/app")',
  },
  env: {
    accepts: isEnv,
    accepted: 'an object of variables (texts or numbers), whose names do not begin with "nclust_"',
  },
  shared: {
    accepts: (value) => Array.isArray(value) && value.every(isInside),
    accepted: 'a list of paths inside the release, such as [".env", "uploads/"]',
  },
  releases: {
    accepts: (value) => Number.isInteger(value) && value >= 1 && value <= 1000,
    accepted: 'a number of releases from 1 to 1000',
  },
  ...Object.fromEntries(
    HOOKS.map((name) => [
      name,
      {
        accepts: (/** @type {unknown} */ value) => typeof value === 'string' && !value.includes('\0'),
        accepted: 'a shell command',
      },
    ]),
  ),
};

/**
 * @param {Record<string, unknown> | null} deploy
 * @param {string} name
 * @param {object} o
 * @param {string} o.file
 * @param {string} o.postDeploy  The default of the hook.
 * @returns {{ deployment: Deployment, warnings: string[] }}
 */
export function readDeployment(deploy, name, { file, postDeploy }) {
  const given = deploy && Object.hasOwn(deploy, name) ? deploy[name] : undefined;
  if (!isRecord(given)) throw unknownEnvironment(deploy, name, file);
  const said = /** @type {Record<string, any>} */ (
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null))
  );
  const missing = REQUIRED.filter((key) => said[key] === undefined);
  const wrong = Object.entries(said).filter(([key, value]) => Object.hasOwn(RULES, key) && !RULES[key].accepts(value));
  const faults = [
    ...missing.map((key) => `deploy.${name}.${key} is missing; accepted: ${RULES[key].accepted}.`),
    ...wrong.map(
      ([key, value]) =>
        `deploy.${name}.${key} is ${key === 'env' ? shownEnv(value) : JSON.stringify(value)}; ` +
        `accepted: ${RULES[key].accepted}.`,
    ),
  ];
  if (faults.length > 0) {
    const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
    throw new NclustError(
      'ERR_NCLUST_DEPLOY_BAD_CONFIG',
      `"${file}" has ${count}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
      { hint: 'docs/deploy.md lists every key.', data: { file, faults } },
    );
  }
  const unknown = Object.keys(said).filter((key) => !Object.hasOwn(RULES, key));
  return {
    deployment: complete(said, name, postDeploy),
    warnings: [
      ...unknown.map((key) => meansNothing(`deploy.${name}.${key}`, key)),
      ...installsLate(said['post-deploy']),
      ...warnAboutPm2(name, said),
    ],
  };
}

/**
 * @param {string} ref
 * @returns {string}
 */
export function checkRef(ref) {
  if (isRef(ref)) return ref;
  throw new NclustError('ERR_NCLUST_USAGE', `The ref is ${JSON.stringify(ref)}; accepted: ${RULES.ref.accepted}.`);
}

/**
 * @param {Record<string, any>} said
 * @param {string} name
 * @param {string} postDeploy
 * @returns {Deployment}
 */
function complete(said, name, postDeploy) {
  const list = (/** @type {string | string[] | undefined} */ value) => (value === undefined ? [] : [value].flat());
  const hooks = Object.fromEntries(
    HOOKS.map((hook) => [hook, said[hook] ?? (hook === 'post-deploy' ? postDeploy : '')]),
  );
  return {
    name,
    hosts: list(said.host),
    user: said.user ?? null,
    port: said.port === undefined ? null : Number(said.port),
    key: said.key ?? null,
    sshOptions: list(said.ssh_options),
    ref: said.ref,
    repo: said.repo,
    path: said.path.length > 1 ? said.path.replace(/\/+$/, '') : said.path,
    shared: said.shared ?? [],
    releases: said.releases ?? RELEASES_KEPT,
    env: Object.fromEntries(Object.entries(said.env ?? {}).map(([key, value]) => [key, String(value)])),
    hooks: /** @type {Record<HookName, string>} */ (hooks),
  };
}

/**
 * @param {Record<string, unknown> | null} deploy
 * @param {string} name
 * @param {string} file
 */
function unknownEnvironment(deploy, name, file) {
  const names = Object.keys(deploy ?? {});
  const known = names.length === 0 ? 'it has no environments' : `it has ${names.map((one) => `"${one}"`).join(', ')}`;
  return new NclustError('ERR_NCLUST_DEPLOY_BAD_CONFIG', `"${file}" has no object deploy.${name}; ${known}.`, {
    hint: 'docs/deploy.md has an example.',
    data: { file, names },
  });
}

/**
 * @param {string} keyPath
 * @param {string} key
 */
function meansNothing(keyPath, key) {
  const near = nearWords(key, Object.keys(RULES));
  return `${keyPath} is unknown and ignored${near.length > 0 ? `; did you mean "${near[0]}"?` : '.'}`;
}

/**
 * Warns if the post-deploy hook installs packages, because until the hook finishes, the new release
 * is already current but incomplete.
 * @param {string | undefined} hook
 */
function installsLate(hook = '') {
  if (!/\b(npm|pnpm|yarn|bun)\s+(ci|i|install)\b/.test(hook)) return [];
  return [
    'post-deploy installs packages when the new release is already the current one. Install them in ' +
      'pre-deploy, where a failure changes nothing.',
  ];
}

/** The word pm2, also with a path, but not in a name such as pm2-logs. */
const CALLS_PM2 = /(?<![\w.@-]|\bimport )pm2(?![\w./-])/;

/**
 * Warns if a hook calls pm2, because that would start PM2 on the host beside nclust.
 * @param {string} name  Of the environment.
 * @param {Record<string, unknown>} hooks  May have other keys, too.
 */
export function warnAboutPm2(name, hooks) {
  return HOOKS.filter((hook) => CALLS_PM2.test(String(hooks[hook] ?? ''))).map(
    (hook) => `deploy.${name}.${hook} seems to call pm2, but nclust manages the apps. Write nclust in its place.`,
  );
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
function isFilled(value) {
  return typeof value === 'string' && value.trim() !== '' && !/[\u0000-\u001f\u007f]/.test(value);
}

/**
 * Refuses a text that contains white space. Also refuses a text that begins with "-", because a
 * program would read such a text as an option.
 * @param {unknown} value
 * @returns {value is string}
 */
function isWord(value) {
  return isFilled(value) && !/^-|\s/.test(value);
}

/** @param {unknown} value */
function isRef(value) {
  return isWord(value) && !/[~^:?*[\\]|\.\.|@\{/.test(value);
}

/** @param {unknown} value */
function isEnv(value) {
  return isRecord(value) && Object.entries(value).every(isVariable);
}

/** @param {[name: string, value: unknown]} entry */
function isVariable([name, value]) {
  return (
    /^(?!nclust_)[A-Za-z_]\w*$/.test(name) &&
    ['string', 'number', 'boolean'].includes(typeof value) &&
    !String(value).includes('\0')
  );
}

/**
 * Shows only the names of the refused variables, because a value may be a password.
 * @param {unknown} value
 */
function shownEnv(value) {
  if (!isRecord(value)) return `a ${Array.isArray(value) ? 'list' : typeof value}`;
  const refused = Object.entries(value).filter((entry) => !isVariable(entry));
  return JSON.stringify(Object.fromEntries(refused.map(([name]) => [name, '…'])));
}

/** @param {unknown} value */
function isInside(value) {
  return (
    isFilled(value) &&
    !value.startsWith('/') &&
    !value.split('/').some((part) => part === '..' || part === '.' || part === '.git')
  );
}
