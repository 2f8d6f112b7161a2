import { expect } from 'vitest';

/** Programs that do not listen are up this soon. */
export const QUICK = ['--min-uptime', '100'];

/** Notices about apps of these tests that do not listen. */
const NO_PORT = /^.* (has|have) not begun to listen on a port or socket\.\n/gm;

/**
 * Result of a command that changed something: the list, one sentence, 0.
 * @param {string} sentence
 */
export const changed = (sentence) => ({
  exitStatus: 0,
  stdout: expect.stringMatching(/^┌.*│ id .*│ name .*│ status .*┘\n$/s),
  stderr: expect.toSatisfy((text) => text.replace(NO_PORT, '') === `${sentence}\n`, sentence),
});

/**
 * Result of a command that only prints data.
 * @param {string | RegExp} stdout
 */
export const printed = (stdout) => ({ exitStatus: 0, stdout: like(stdout), stderr: '' });

/**
 * Result of a command without data that reports what it did.
 * @param {string | RegExp} stderr
 */
export const said = (stderr) => ({ exitStatus: 0, stdout: '', stderr: like(stderr) });

/**
 * Result of a command that did nothing: 1 refused or failed, 2 usage.
 * @param {1 | 2} exitStatus
 * @param {string | RegExp} stderr
 */
export const refused = (exitStatus, stderr) => ({
  exitStatus,
  stdout: '',
  stderr: typeof stderr === 'string' ? expect.stringContaining(stderr) : like(stderr),
});

/** @param {string | RegExp} text */
function like(text) {
  return typeof text === 'string' ? text : expect.stringMatching(text);
}
