import { PROCESS_KINDS } from './process-kinds.js';
import { WORKER_KINDS } from './worker-kinds.js';

/** @import { Kind } from '../../../lib/shared/troubles.js' */
/** @import { KindRow } from './judge.js' */

/** In the order in which screens name them. @type {Record<Kind, KindRow>} */
export const KINDS = { ...PROCESS_KINDS, ...WORKER_KINDS };
