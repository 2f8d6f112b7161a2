import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { orUnwritable } from '../cli/user-file.js';
import { builtin } from './debugger.js';

/** @typedef {import('./debugger.js').Debugger} Debugger */

/** How long a process may take to begin and to end a profile, in ms. */
const BEGIN_MS = 15_000;
const END_MS = 60_000;
const SNAPSHOT_MS = 1_800_000;

/**
 * A profile of a process, taken by a debugger.
 * @param {Debugger} inside
 * @param {object} o
 * @param {import('./kinds.js').Kind} o.kind
 * @param {number} o.durationMs
 * @param {string} o.file  Is there.
 * @param {AbortSignal} o.signal
 * @returns {Promise<void>}  Rejects with a SilentProcess, or ERR_NCLUST_FILE_UNWRITABLE.
 */
export async function takeInside(inside, { kind, durationMs, file, signal }) {
  if (kind.word === 'heap') return snapshot(inside, file);
  await inside.ask(`${kind.domain}.enable`, {}, BEGIN_MS);
  await inside.ask(`${kind.domain}.${kind.start}`, {}, BEGIN_MS);
  await pause(durationMs, undefined, { signal });
  const { profile } = await inside.ask(`${kind.domain}.${kind.stop}`, {}, END_MS);
  orUnwritable(file, () => writeFileSync(file, JSON.stringify(profile), { flag: 'r+' }));
}

/**
 * The process writes it itself: since Node 22 HeapProfiler.takeHeapSnapshot waits for the loop to turn.
 * @param {Debugger} inside
 * @param {string} file
 */
async function snapshot(inside, file) {
  const expression = `${builtin('node:v8')}.writeHeapSnapshot(${JSON.stringify(file)})`;
  const { exceptionDetails } = await inside.ask('Runtime.evaluate', { expression, includeCommandLineAPI: true }, SNAPSHOT_MS);
  if (!exceptionDetails) return;
  const description = String(exceptionDetails.exception?.description ?? exceptionDetails.text);
  const [message] = description.split('\n');
  orUnwritable(file, () => { throw Object.assign(new Error(message), { code: /\bE[A-Z]{3,}\b/.exec(message)?.[0] ?? 'EFAILED' }); });
}
