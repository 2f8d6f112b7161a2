import { checkSpec } from '../../../lib/shared/spec/spec.js';
import { checkCompression } from '../logs/archive/compression.js';
import { merge } from '../state/desired.js';
import { keepOffOwnFiles } from '../spawn/reserved-paths.js';
import { withRoom } from '../spawn/capacity.js';
import { startSpecs, stop } from '../state/changes.js';
import { about, finish, roomOf, WAITABLE } from './apps.js';
import { BadParams, list, readParams, record } from './params.js';

/** @import { Change, Desired } from '../state/desired.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Desk, MethodBody } from './methods.js' */

/** Apps that come from another manager. @satisfies {Record<string, MethodBody>} */
export const importing = {
  /** @type {MethodBody} */
  async import(desk, params, client) {
    const { apps, wait, progress, token } = readParams({ ...WAITABLE, apps: list }, params);
    const given = apps.map((app, at) => readApp(desk, app, `apps[${at}]`));
    const receipt = desk.control.mutate('import', token, (desired) => withRoom(about(takenIn(desk, desired, given)), roomOf('Import', desk)));
    return { slots: await finish(desk, receipt, wait, client, progress) };
  },
};

/** @typedef {{spec: AppSpec, resting: number[]}} Given  `resting`: slots that come stopped. */

/**
 * @param {Desk} desk
 * @param {unknown} app
 * @param {string} path
 * @returns {Given}  Throws BadParams, ERR_NCLUST_BAD_SPEC and ERR_NCLUST_BAD_SETTING.
 */
function readApp({ paths }, app, path) {
  const { spec, resting = [] } = record(app, path);
  if (!Array.isArray(resting) || !resting.every((slot) => Number.isInteger(slot) && slot >= 0)) throw new BadParams(`${path}.resting`, 'a list of slot numbers');
  const checked = checkSpec(spec, `${path}.spec`);
  if (checked.logCompress !== null) checkCompression(checked.logCompress);
  return { spec: keepOffOwnFiles(checked, paths), resting };
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {Given[]} given
 * @returns {Change}  Throws ERR_NCLUST_APP_EXISTS.
 */
function takenIn({ parts }, desired, given) {
  return given.reduce((sum, { spec, resting }) => {
    const started = startSpecs(sum.desired, [spec], { isForced: false, isIdle: () => false, cpus: parts.cpus(), nowMs: parts.clock.nowMs() });
    const ids = started.up.filter((_, slot) => resting.includes(slot)).map(({ id }) => id);
    return merge(sum, { desired: stop(started.desired, ids, 'import').desired, up: started.up.filter(({ id }) => !ids.includes(id)), gone: ids });
  }, /** @type {Change} */ ({ desired, up: [], gone: [] }));
}
