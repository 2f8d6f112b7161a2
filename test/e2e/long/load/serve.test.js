import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ledgerTable } from '../../../helpers/ledger-table.js';
import { NOTHING_LOST } from '../../../helpers/ledger.js';
import { startLoad } from '../../../helpers/load.js';
import { takePort } from '../../../helpers/ports.js';
import { sandbox } from '../../../helpers/sandbox.js';

test.each([
  ['cluster', ['-i', '2']],
  ['fork', []],
])('a served folder in %s mode is switched and reloaded 3 times without losing a request', async (_mode, flags) => {
  const home = await sandbox();
  for (const name of ['one', 'two']) {
    mkdirSync(join(home.work, name));
    // The file contains a pid, because the load driver expects a pid in the answer.
    writeFileSync(join(home.work, name, 'index.json'), JSON.stringify({ pid: 1, name, text: 'x'.repeat(20_000) }));
  }
  symlinkSync('one', join(home.work, 'current'));
  const port = await takePort();
  expect(
    await home.nclust(
      'serve',
      'current',
      String(port),
      '--homepage',
      'index.json',
      '-n',
      'site',
      '--min-uptime',
      '100',
      ...flags,
    ),
  ).toMatchObject({ exitStatus: 0 });
  const loads = [
    startLoad(`http://127.0.0.1:${port}/`, { connections: 4 }),
    startLoad(`http://127.0.0.1:${port}/index.json`, { connections: 4, keepAlive: true }),
  ];
  for (const name of ['two', 'one', 'two']) {
    symlinkSync(name, join(home.work, 'next'));
    renameSync(join(home.work, 'next'), join(home.work, 'current'));
    expect(await home.nclust('reload', 'site')).toMatchObject({ exitStatus: 0 });
  }
  for (const load of loads) {
    const ledger = await load.stop();
    console.log(ledgerTable(ledger));
    expect(ledger).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
  }
});
