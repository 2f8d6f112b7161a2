import { expect } from 'vitest';

export const QUICK = ['--min-uptime', '100'];

/** Notices about apps of these tests that do not listen. */
const NO_PORT = /^.* (does|do) not listen on a port or socket yet\.\n/gm;

/** A command that changes apps prints the list and one sentence, and exits with 0. */
export const changed = (sentence) => ({
  exitStatus: 0,
  stdout: expect.stringMatching(/^┌.*│ id .*│ name .*│ status .*┘\n$/s),
  stderr: expect.toSatisfy((text) => text.replace(NO_PORT, '') === `${sentence}\n`, sentence),
});

export const printed = (stdout) => ({ exitStatus: 0, stdout: like(stdout), stderr: '' });

export const said = (stderr) => ({ exitStatus: 0, stdout: '', stderr: like(stderr) });

/** Exit status 1: refused or failed. 2: wrong usage. */
export const refused = (exitStatus, stderr) => ({
  exitStatus,
  stdout: '',
  stderr: typeof stderr === 'string' ? expect.stringContaining(stderr) : like(stderr),
});

function like(text) {
  return typeof text === 'string' ? text : expect.stringMatching(text);
}
