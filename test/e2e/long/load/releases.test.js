import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createSite } from '../../../helpers/deployment.js';
import { fixturePath } from '../../../helpers/fixtures.js';
import { ledgerTable } from '../../../helpers/ledger-table.js';
import { NOTHING_LOST } from '../../../helpers/ledger.js';
import { startLoad } from '../../../helpers/load.js';
import { takePort } from '../../../helpers/ports.js';
import { fetchOnce } from '../../../helpers/sandbox-app.js';
import { sandbox } from '../../../helpers/sandbox.js';

test.each([
  ['cluster', '-i 2'],
  ['fork', ''],
])('in %s mode, three deployments and a revert of an app under current lose no request', async (_mode, flags) => {
  const home = await sandbox();
  const site = createSite(home);
  const port = await takePort();
  const program = (release) =>
    `${readFileSync(fixturePath('http-echo'), 'utf8')}\nconsole.log('release ${release}');\n`;
  site.commit({ 'app.js': program(0) });
  site.configure({
    releases: 2,
    'post-setup': `PORT=${port} nclust start app.js --name api --min-uptime 100 ${flags}`,
    'post-deploy': 'nclust reload api',
  });
  expect(await site.deploy('setup')).toMatchObject({ exitStatus: 0 });
  // Waits, because an app older than min_uptime is up even if it does not listen yet.
  await home.waitFor('all instances to listen', async () =>
    (await home.list()).every(({ addresses }) => addresses.length > 0),
  );
  const loads = [
    startLoad(`http://127.0.0.1:${port}`, { connections: 4 }),
    startLoad(`http://127.0.0.1:${port}`, { connections: 4, keepAlive: true }),
  ];
  for (const release of [1, 2, 3]) {
    site.commit({ 'app.js': program(release) });
    expect(await site.deploy()).toMatchObject({ exitStatus: 0 });
    await home.waitFor(`release ${release} to run`, async () =>
      readFileSync((await home.list())[0].outFile, 'utf8').includes(`release ${release}\n`),
    );
  }
  expect(await site.deploy('revert')).toMatchObject({ exitStatus: 0 });
  for (const load of loads) {
    const ledger = await load.stop();
    console.log(ledgerTable(ledger));
    expect(ledger).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
  }
  expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBeTruthy();
});
