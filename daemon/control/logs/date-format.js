import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Points in time as text, in the words of dayjs and in local time. A second, or a millisecond where the format has some, is put into words once.
 * @param {string} format  Such as "YYYY-MM-DDTHH:mm:ss".
 * @returns {(atMs: number) => string}
 */
export function createDateFormat(format) {
  // Loaded by who needs it: most apps do not.
  const dayjs = /** @type {typeof import('dayjs')} */ (require('dayjs'));
  const stepMs = /SSS/.test(format.replace(/\[[^\]]*\]/g, '')) ? 1 : 1_000;
  let step = NaN;
  let text = '';
  return (atMs) => {
    const now = Math.floor(atMs / stepMs);
    if (now !== step) text = dayjs(atMs).format(format);
    step = now;
    return text;
  };
}
