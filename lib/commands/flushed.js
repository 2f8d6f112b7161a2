import { formatBytes } from '../render/slots.js';
import { oneLine } from '../render/text.js';

/**
 * @param {{files: {path: string, bytes: number}[]}} data
 * @returns {string}
 */
export function renderFlushed({ files }) {
  return files.length === 0 ? 'There was nothing to empty.\n' : files.map(({ path, bytes }) => `Flushed ${oneLine(path)} (${formatBytes(bytes)})\n`).join('');
}
