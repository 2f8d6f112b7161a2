// Descriptors that a shell has opened, such as `exec 200<file`, reach every process that it starts.
// Node.js marks those below 16 as close-on-exec, and those above up to the first free number.
// The keeper must not pass the others to an app. Linux only: on macOS, Node.js starts a process
// without them, unless the process gets another user.
import { closeSync, openSync } from 'node:fs';
import { namesIn } from './files.js';
import { readProcFile } from './home-processes.js';

/** @import { IOType } from 'node:child_process' */

const STDERR = 2;
const O_CLOEXEC = 0o2000000;

/**
 * Only for a program that has no such descriptors of its own.
 */
export function closeInherited() {
  for (const fd of findInherited()) closeSync(fd);
}

/**
 * @template T
 * @param {(IOType | number)[]} stdio
 * @param {(stdio: (IOType | number)[]) => T} start  Starts the process. Synchronous.
 * @returns {T}
 */
export function withoutInherited(stdio, start) {
  const inherited = findInherited().filter((fd) => fd >= stdio.length);
  if (inherited.length === 0) return start(stdio);
  const nothing = openSync('/dev/null', 'r');
  try {
    // The process gets /dev/null in place of each descriptor.
    const length = Math.max(...inherited) + 1;
    return start(Array.from({ length }, (_, fd) => stdio[fd] ?? (inherited.includes(fd) ? nothing : 'ignore')));
  } finally {
    closeSync(nothing);
  }
}

/** Node.js opens all its own descriptors with close-on-exec. */
function findInherited() {
  const all = namesIn('/proc/self/fd').map(Number);
  return all.filter((fd) => {
    const flags = /^flags:\s*(\d+)$/m.exec(readProcFile('self', `fdinfo/${fd}`))?.[1];
    return fd > STDERR && flags !== undefined && (parseInt(flags, 8) & O_CLOEXEC) === 0;
  });
}
