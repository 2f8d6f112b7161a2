import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('a strict TypeScript program gets the types of the library and of the PM2 API', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(fixturePath('types'), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'nclust'));
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: ['node'] },
    }),
  );
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  expect(execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })).toBe('');
}, 60_000);
