// Knows: the methods of the socket. A method turns parameters into one change or one query, and
// makes an answer from the records. Must not: trust a client, change records except through
// mutate(), or contain policy.
import { applyMethods } from './config-file.js';
import { changes } from './apps.js';
import { UnknownMethod } from './connection.js';
import { importMethods, savedListMethods } from './saved-list.js';
import { tendLogFiles } from './log-files.js';
import { followLogs } from './logs.js';
import { messages } from './messages.js';
import { metrics } from './metrics.js';
import { profilingMethods } from './profiling.js';
import { readings } from './status.js';
import { restartFromFileMethods } from './restart-from-file.js';
import { notify, settings, web } from './settings.js';
import { updateMethods } from './update.js';
import { METHODS } from '../../../lib/shared/wire/protocol.js';

/** @import { Method } from '../../../lib/shared/wire/protocol.js' */
/** @import { ApiContext, Client } from '../context.js' */
/** @import { Answer } from './connection.js' */

/**
 * @typedef {(context: ApiContext, params: Record<string, unknown>, client: Client) => unknown} MethodBody
 */

/** @type {Record<Method, MethodBody>} */
const BODIES = {
  ...readings,
  ...changes,
  ...restartFromFileMethods,
  ...applyMethods,
  ...savedListMethods,
  ...importMethods,
  ...followLogs,
  ...tendLogFiles,
  ...settings,
  ...updateMethods,
  ...messages,
  ...profilingMethods,
  ...metrics,
  ...web,
  ...notify,
};

/**
 * @param {ApiContext} context
 * @returns {Answer}
 */
export function createAnswer(context) {
  return async (method, params, client) => {
    if (!METHODS.includes(/** @type {Method} */ (method))) throw new UnknownMethod(method);
    return BODIES[/** @type {Method} */ (method)](context, params, client);
  };
}
