import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** @returns {string}  A path. If Chromium is missing, the error explains what to install. */
export function findChromium() {
  const given = process.env.CHROME_PATH;
  if (given && existsSync(given)) return given;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
  if (found && !given) return found;
  throw new Error(
    `${given ? `There is nothing at CHROME_PATH (${given}).` : `No ${NAMES.join(', ')} on PATH.`} The ` +
      `dashboard is tested in Chromium: apt-get install chromium, or set CHROME_PATH.`,
  );
}

/**
 * Turns off Chromium's sandbox for root, because it does not work there. Turns off the use of
 * /dev/shm, because /dev/shm is small in containers.
 */
export const CHROMIUM_ARGS = [
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  '--disable-dev-shm-usage',
  '--disable-gpu',
];
