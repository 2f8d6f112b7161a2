// The inspector of a process that was started without one. Only when somebody asks: whoever reaches its port can run code in the process.
'use strict';

const HOST = '127.0.0.1';

/**
 * @param {boolean} isOn
 * @returns {{ url?: string, was?: string, refusal?: { code: string, message: string } }}  `was`: where it listened before.
 */
function inspect(isOn) {
  try {
    const inspector = require('node:inspector');
    const was = inspector.url();
    // Each process gets a port that is free.
    if (isOn && !was) inspector.open(0, HOST);
    if (!isOn && was) inspector.close();
    return { url: inspector.url(), was };
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { refusal: { code: code ?? 'EINSPECT', message } };
  }
}

module.exports = { inspect };
