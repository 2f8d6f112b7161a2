import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ATTEMPTS = 12;
const FRAMEWORKS = fileURLToPath(new URL('../frameworks', import.meta.url));

/**
 * @param {string} folder
 * @param {string} file
 * @returns {string}
 */
export function placeTutorialApp(folder, file) {
  cpSync(join(FRAMEWORKS, file), join(folder, file));
  symlinkSync(join(FRAMEWORKS, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, file);
}

/**
 * Returns the rounds per request that keep 1.5 cores of any machine busy: one process falls behind,
 * and two processes do not.
 * @param {number} ratePerSecond
 */
export function workForOneCoreAndABit(ratePerSecond) {
  const wantedMs = (1000 / ratePerSecond) * 1.5;
  const rounds = 1_000_000;
  let sum = 0;
  let tookMs = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const started = performance.now();
    for (let i = rounds; i >= 0; i -= 1) sum += Math.atan(i) * Math.tan(i);
    tookMs = Math.min(tookMs, performance.now() - started);
  }
  // Uses the sum, so that V8 does not optimise the loop away.
  return Math.round((rounds * wantedMs) / tookMs) + (sum === 0.5 ? 1 : 0);
}
