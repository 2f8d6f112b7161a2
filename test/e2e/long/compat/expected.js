import { expect } from 'vitest';

/** Programs that do not listen are up this soon. */
export const QUICK = ['--min-uptime', '100'];

/** Notices about apps of these tests that do not listen. */
const NO_PORT = /^.* (has|have) not begun to listen on a port or socket\.\n/gm;

/** Result of a command that changed something: the list, one sentence, 0. */
export const changed = (sentence) => ({
  exitStatus: 0,
  stdout: expect.stringMatching(/^┌.*│ id .*│ name .*│ status .*┘\n$/s),
  stderr: expect.toSatisfy((text) => text.replace(NO_PORT, '') === `${sentence}\n`, sentence),
});

/** Result of a command that only prints data. */
export const printed = (stdout) => ({ exitStatus: 0, stdout: like(stdout), stderr: '' });

/** Result of a command without data that reports what it did. */
export const said = (stderr) => ({ exitStatus: 0, stdout: '', stderr: like(stderr) });

/** Result of a command that did nothing: 1 refused or failed, 2 usage. */
export const refused = (exitStatus, stderr) => ({
  exitStatus,
  stdout: '',
  stderr: typeof stderr === 'string' ? expect.stringContaining(stderr) : like(stderr),
});

function like(text) {
  return typeof text === 'string' ? text : expect.stringMatching(text);
}
