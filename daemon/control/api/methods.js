import { applying, renewing } from './config-file.js';
import { changes } from './apps.js';
import { UnknownMethod } from './connection.js';
import { importing, saving } from './saved-list.js';
import { tendLogFiles } from './log-files.js';
import { followLogs } from './logs.js';
import { messages } from './messages.js';
import { metrics } from './metrics.js';
import { profiling } from './profiling.js';
import { readings } from './status.js';
import { reloading } from '../requests/reload.js';
import { settings, web } from './settings.js';
import { updating } from './update.js';
import { METHODS } from '../../../lib/shared/wire/protocol.js';

/** @import { Answer, Client } from './connection.js' */
/** @import { Method } from '../../../lib/shared/wire/protocol.js' */

/**
 * What the methods work with.
 * @typedef {object} Desk
 * @property {import('../control.js').Control} control
 * @property {import('../keeper-link/tell.js').Parts} parts
 * @property {import('../metrics/metrics.js').Metrics} metrics
 * @property {import('../metrics/exports.js').Exports} exports
 * @property {import('../web/dashboard.js').Web} web
 * @property {import('../../../lib/shared/paths.js').HomePaths} paths
 * @property {string} version
 * @property {import('../triggers/triggers.js').Triggers} triggers
 */

/** @typedef {(desk: Desk, params: Record<string, unknown>, client: Client) => unknown} MethodBody */

/** @type {Record<Method, MethodBody>} */
const BODIES = { ...readings, ...changes, ...reloading, ...renewing, ...applying, ...saving, ...importing, ...followLogs, ...tendLogFiles, ...settings, ...updating, ...messages, ...profiling, ...metrics, ...web };

/**
 * @param {Desk} desk
 * @returns {Answer}
 */
export function createAnswer(desk) {
  return async (method, params, client) => {
    if (!METHODS.includes(/** @type {Method} */ (method))) throw new UnknownMethod(method);
    return BODIES[/** @type {Method} */ (method)](desk, params, client);
  };
}
