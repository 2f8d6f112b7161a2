/** What a host, or a hook here, has written to stdout. @typedef {{host: string, isLabelled: boolean, text: string}} HostLine */

/**
 * A line of a host; with several hosts behind its name.
 * @param {HostLine} line
 * @param {import('../render/list.js').View} view
 * @returns {string}
 */
export function renderDeployLine({ host, isLabelled, text }, { options }) {
  if (options.json) return `${JSON.stringify({ host, text })}\n`;
  return isLabelled ? `[${host}] ${text}\n` : `${text}\n`;
}
