import { NclustError } from '../shared/errors.js';

/** @import { Trouble } from '../shared/troubles.js' */
/** @import { Client } from './client.js' */

/**
 * @param {Client} client
 * @param {string[]} [targets]  Default: all apps.
 * @returns {Promise<Trouble[]>}  The worst first. Empty if the manager is too old to know any.
 */
export async function askTroubles(client, targets) {
  try {
    return (await client.request('troubles', { targets })).troubles;
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_PROTOCOL') return [];
    throw error;
  }
}
