import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { warnOfForeignHome } from '../../../../../lib/cli/session/context.js';

const isRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-foreign-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

test('a HOME of this user causes no warning, even if the account has another one', () => {
  for (const HOME of [folder, userInfo().homedir, '/', join(folder, 'missing'), undefined])
    expect(warnOfForeignHome({ HOME })).toBeNull();
});

test.runIf(isRoot)('a HOME of another user causes a warning with both homes and what to type', () => {
  chownSync(folder, NOBODY, NOBODY);
  const { homedir } = userInfo();
  expect(warnOfForeignHome({ HOME: folder })).toBe(
    `HOME is "${folder}", which belongs to user ${NOBODY}, and this is root. So nclust uses the home ` +
      `"${folder}/.nclust" and not "${homedir}/.nclust". To use your own: "sudo -H" or "su -". ` +
      `To use the other one: run nclust as user ${NOBODY}, or set NCLUST_HOME.`,
  );
});

test.runIf(isRoot)('NCLUST_HOME causes no warning, because the user chose it', () => {
  chownSync(folder, NOBODY, NOBODY);
  expect(warnOfForeignHome({ HOME: folder, NCLUST_HOME: join(folder, '.nclust') })).toBeNull();
});
