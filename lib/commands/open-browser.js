import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';

/**
 * Shows an address in the browser of the desktop. The token must not stand in a command line, which everybody on the machine can read: so the browser is given
 * a file, for this user alone, that leads there.
 * @param {string} url
 * @param {object} o
 * @param {string} o.opener  The file. Replaced.
 * @param {(sentence: string) => void} o.talk  Told when there is no browser.
 * @returns {Promise<void>}  Never rejects.
 */
export async function openBrowser(url, { opener, talk }) {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  try {
    rmSync(opener, { force: true });
    writeFileSync(opener, `<!doctype html>\n<meta charset="utf-8">\n<title>nclust</title>\n<meta http-equiv="refresh" content="0;url=${url}">\n`, { mode: 0o600, flag: 'wx' });
    await new Promise((resolve, reject) => {
      const child = spawn(program, [opener], { detached: true, stdio: 'ignore' });
      child.once('error', reject).once('spawn', () => resolve(undefined));
      child.unref();
    });
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    talk(`No browser was opened (${program}: ${code ?? message}). Copy the address into yours.`);
  }
}
