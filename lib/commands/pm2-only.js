import { NclustError } from '../shared/errors.js';

/**
 * @param {string} name
 * @param {string} hint  What does the same.
 * @returns {() => Promise<never>}  Throws ERR_NCLUST_ELSEWHERE.
 */
export function elsewhere(name, hint) {
  return async () => {
    throw new NclustError('ERR_NCLUST_ELSEWHERE', `"${name}" is a command of PM2 that nclust does not have.`, { hint });
  };
}
