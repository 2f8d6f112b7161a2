import { NclustError } from '../shared/errors.js';

/**
 * isBegun: nclust started a script on the host.
 * @typedef {{ host: string, reports: Record<string, string>, isBegun: boolean }} Account
 */

/** ssh exits with this status if the connection fails. */
const LOST = 255;
const NOT_FOUND = 127;

/**
 * @param {object} o
 * @param {string} o.name
 * @param {string} o.doing  Such as "Deploying".
 * @param {{ host: string, code: number }[]} o.failed  Not empty.
 * @param {Account[]} o.accounts  Accounts of all hosts, in the order of the config.
 * @param {boolean} o.isPlain  The command does not change releases.
 * @param {boolean} o.isExec  The exit status is that of the user's command, unless ssh failed.
 */
export function deployError({ name, doing, failed, accounts, isPlain, isExec }) {
  const getStep = (/** @type {string} */ host) =>
    accounts.find((account) => account.host === host)?.reports.step ?? 'connect';
  const findLocked = (/** @type {string} */ host) => accounts.find((account) => account.host === host)?.reports.locked;
  const what = failed.map(({ host, code }) => {
    if (findLocked(host) !== undefined) return ` on ${host}: it is locked by ${findLocked(host)}`;
    const step = getStep(host);
    return code === LOST
      ? ` on ${host}: ssh exited with 255 at "${step}": it could not connect, or lost the connection`
      : ` on ${host}: "${step}" exited with ${code}`;
  });
  const where = isPlain ? [] : accounts.map((account) => `\n  ${account.host}: ${describeReports(account)}.`);
  const [{ host, code }] = failed;
  return new NclustError('ERR_NCLUST_DEPLOY_FAILED', `${doing} "${name}" failed${what.join(',')}.${where.join('')}`, {
    hint:
      findLocked(host) === undefined
        ? findHint(code, host)
        : `Wait for that deployment to finish. If it no longer runs: nclust deploy ${name} unlock`,
    data: { host, step: getStep(host), code, hosts: accounts },
    ...(isExec && code !== LOST ? { exitStatus: code } : {}),
  });
}

/**
 * The script has succeeded, but did not report what the next step needs.
 * @param {{ name: string, doing: string, accounts: Account[], host: string, key: string }} o
 */
export function wrongReport({ name, doing, accounts, host, key }) {
  const value = accounts.find((account) => account.host === host)?.reports[key];
  const found = value === undefined ? `no ${key}` : `a ${key} that cannot be right (${value.slice(0, SHOWN_CHARS)})`;
  const where = accounts.map((account) => `\n  ${account.host}: ${describeReports(account)}.`).join('');
  return new NclustError(
    'ERR_NCLUST_DEPLOY_FAILED',
    `${doing} "${name}" failed on ${host}: it reported ${found}.${where}`,
    {
      hint: `See whether a program on ${host} prints or replaces output of git: ssh ${host} git --version`,
      data: { host, step: key, hosts: accounts },
    },
  );
}

const SHOWN_CHARS = 100;

/** @param {Account} account */
function describeReports({ reports: { previous, switched, back, active }, isBegun }) {
  const before =
    previous === undefined
      ? ''
      : previous === ''
        ? '; "current" does not exist, as before'
        : `; "current" leads to ${previous}, as before`;
  if (!isBegun) return `not started${before}`;
  if (active !== undefined) return `runs ${active}`;
  if (back !== undefined)
    return (
      `"current" ${back === '' ? 'was removed' : `leads to ${back}`} again; an app that the hook ` +
      `reloaded before it failed runs ${switched}`
    );
  if (switched !== undefined)
    return (
      `"current" was switched to ${switched}, and it is unknown whether it was switched back; see: ` +
      `nclust deploy <environment> curr`
    );
  return `nothing was switched${before}`;
}

/**
 * @param {number} code
 * @param {string} host
 */
function findHint(code, host) {
  if (code === LOST) return `Try: ssh ${host} true`;
  if (code === NOT_FOUND)
    return (
      `A program was not found on ${host}. A command of ssh does not read the login profile, so set PATH ` +
      `in a file that the shell there always reads (docs/deploy.md).`
    );
  return 'The lines above show why.';
}
