import { isRecord } from '../shared/is-record.js';
import { flag, isFilled, isText, oneOf, orNull, text, words } from './kinds.js';
import { internal, REQUIRED, setting } from './row.js';

/** @import { StoredKind } from './kinds.js' */
/** @import { FieldRow } from './table.js' */

/** @type {StoredKind} */
const FILE = {
  accepts: (value) => isText(value) && value.startsWith('/'),
  stored: 'an absolute path',
  type: 'string',
};

/** @type {StoredKind} */
const VERSIONING = {
  accepts: (value) => value === null || isRecord(value),
  stored: 'an object with facts from git, or null',
  type: 'Versioning | null',
};

/** Fields that nclust calculates from the attributes. @type {FieldRow[]} */
export const DERIVED = [
  internal('kind', oneOf(['node', 'exec']), REQUIRED, {
    shownAs: 'kind',
    needs: 'replace',
    isPublic: true,
    note: 'node: the agent is preloaded. exec: any other program.',
  }),
  internal('instancesGiven', flag, false, { shownAs: 'instances' }),
  internal('file', FILE, REQUIRED, {
    shownAs: 'interpreter',
    needs: 'rollout',
    note: 'Absolute path of the program that is executed.',
  }),
  internal('interpreterGiven', orNull({ ...text, accepts: isFilled }, 'a choice of nclust'), null, {
    shownAs: 'interpreter',
    needs: 'nothing',
  }),
  internal('execArgs', words, [], {
    shownAs: 'args',
    needs: 'rollout',
    isPrivate: true,
    note: 'The actual arguments of `file`, for kind exec.',
  }),
  internal('version', text, 'N/A', { shownAs: 'version', needs: 'along' }),
  internal('nodeVersion', orNull(text, 'another program'), null, { shownAs: 'node_version', needs: 'along' }),
  internal('versioning', VERSIONING, null, { shownAs: 'vizion', needs: 'along' }),
].map((row) => ({ ...row, isDerived: true }));

const ANYTHING = { read: (/** @type {unknown} */ value) => value, accepted: 'anything', schema: {} };

const MONITORING = 'for a monitoring service that nclust does not use';

/** Attributes of PM2 that nclust accepts and ignores. @type {FieldRow[]} */
export const UNNEEDED = Object.entries({
  force: '`start` restarts an app of the file that runs already',
  kill_retry_time: 'nclust does not poll',
  post_update: 'nclust does not pull; use the hooks of `deploy`',
  windowsHide: 'nclust does not run on Windows',
  automation: MONITORING,
  pmx: MONITORING,
  trace: MONITORING,
  disable_trace: MONITORING,
  deep_monitoring: MONITORING,
  event_loop_inspector: MONITORING,
  v8: MONITORING,
  km_link: MONITORING,
  axm_options: MONITORING,
  install_url: 'nclust has no modules',
  name_prefix: 'internal to PM2',
  write: 'internal to PM2',
}).map(([name, why]) => setting(name, ANYTHING, { unneeded: why, help: `accepted and not needed: ${why}` }));
