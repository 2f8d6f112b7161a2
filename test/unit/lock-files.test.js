import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test.each(['.', 'test/bench', 'test/browser', 'test/frameworks', 'test/nodes'])(
  'the lock file of %s names no host of a package registry',
  (folder) => {
    expect(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved": "https?:/);
  },
);
