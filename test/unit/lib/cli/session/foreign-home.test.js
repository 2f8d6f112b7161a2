import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { warnOfForeignHome } from '../../../../../lib/cli/session/foreign-home.js';

const isRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-foreign-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

test('a HOME of ours is no reason to warn, whatever the account says', () => {
  for (const HOME of [folder, userInfo().homedir, '/', join(folder, 'missing'), undefined])
    expect(warnOfForeignHome({ HOME })).toBeNull();
});

test.runIf(isRoot)('a HOME of another user is said, with both homes and what to type', () => {
  chownSync(folder, NOBODY, NOBODY);
  const { homedir } = userInfo();
  expect(warnOfForeignHome({ HOME: folder })).toBe(
    `HOME is "${folder}", which belongs to user ${NOBODY}, and this is root. So nclust uses the home ` +
      `"${folder}/.nclust" and not "${homedir}/.nclust". For your own use "sudo -H" or "su -"; ` +
      `for the other one run nclust as its user, or set NCLUST_HOME.`,
  );
});

test.runIf(isRoot)('whoever sets NCLUST_HOME has chosen', () => {
  chownSync(folder, NOBODY, NOBODY);
  expect(warnOfForeignHome({ HOME: folder, NCLUST_HOME: join(folder, '.nclust') })).toBeNull();
});
