import { readIfThere, tryTo } from '../shared/daemon/files.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { findSurvivors } from './survivors.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Survivor } from './survivors.js' */

/**
 * @param {string} home
 * @returns {number}  0 if the state is missing or unreadable. The manager reports an unreadable
 *   state when it starts.
 */
export function countSavedApps(home) {
  const apps = tryTo(() => JSON.parse(readIfThere(homePaths(home).state)).apps, null);
  return Array.isArray(apps) ? apps.length : 0;
}

/** @param {Pick<Context, 'home' | 'printMessage'>} context */
export function printNotRunning({ home, printMessage }, show = printMessage) {
  show(`No nclust runs in ${home}. ${nextStep(home)}`);
}

/** @param {Pick<Context, 'home'>} context */
export function notRunningError({ home }) {
  return new NclustError('ERR_NCLUST_DAEMON_NOT_RUNNING', `No nclust runs in "${home}".`, { hint: nextStep(home) });
}

/**
 * @param {Context} context
 * @param {string[]} targets
 */
export function noManagerError({ home }, targets) {
  const what = targets.includes('all')
    ? 'There is no app in the list'
    : `There is no ${targets.map((target) => `"${target}"`).join(' or ')} in the list`;
  return new NclustError('ERR_NCLUST_APP_NOT_FOUND', `${what}: no nclust runs in "${home}".`, { hint: nextStep(home) });
}

/** @param {string} home */
function nextStep(home) {
  const left = findSurvivors(home);
  const kept = countSavedApps(home);
  if (left.length > 0) {
    // Without its state, a manager does not know these apps.
    const next =
      kept > 0
        ? 'Start a manager for them with: nclust resurrect'
        : `End them with: kill ${left.map(({ pid }) => pid).join(' ')}`;
    return `Processes of its apps still run without it: ${listSurvivors(left)}. ${next}`;
  }
  if (kept === 0) return 'Start an app with: nclust start app.js';
  return (
    `${kept === 1 ? 'One app is' : `${kept} apps are`} kept there; bring ${kept === 1 ? 'it' : 'them'} ` +
    `back with: nclust resurrect`
  );
}

const PIDS_SHOWN = 8;

/** @param {Survivor[]} left */
function listSurvivors(left) {
  return [...new Set(left.map(({ name }) => name))]
    .map((wanted) => {
      const pids = left.filter(({ name }) => name === wanted).map(({ pid }) => pid);
      const more = pids.length > PIDS_SHOWN ? `, and ${pids.length - PIDS_SHOWN} more` : '';
      return `"${wanted}" (pid ${pids.slice(0, PIDS_SHOWN).join(', ')}${more})`;
    })
    .join(', ');
}
