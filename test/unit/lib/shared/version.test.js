import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readVersion } from '../../../../lib/shared/version.js';

test('the version is that of package.json', () => {
  expect(readVersion()).toBe(
    JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')).version,
  );
});
