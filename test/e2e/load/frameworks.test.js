import { expect, test } from 'vitest';
import { frameworkApps, reloadFrameworks } from '../../helpers/framework-apps.js';
import { sandbox } from '../../helpers/sandbox.js';

// All in one home, reloaded by one command: test/e2e/soak reloads them ten times, one after the other.
test('the apps of every framework are reloaded twice, all at once, and lose nothing', async () => {
  const home = await sandbox();
  const losses = await reloadFrameworks(home, { apps: frameworkApps(), times: 2 });
  expect(losses).toEqual(Object.fromEntries(frameworkApps().map(({ name }) => [name, 0])));
});
