// Starts the table of config files under PM2, and prints each difference that from-pm2.md does not
// name. `node config-files.js`
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compare, observe } from '../helpers/config-files.js';
import { openRival } from './rivals.js';

const page = readFileSync(new URL('../../docs/from-pm2.md', import.meta.url), 'utf8');

const rival = openRival('PM2');
const work = join(rival.folder, 'work');
mkdirSync(work);
let observed = [];
try {
  // PM2 mixes up commands that run at the same time.
  observed = await observe({ home: join(rival.folder, 'home'), work, run: rival.tryRun, atOnce: 1 });
} finally {
  await rival.close();
}

let unnamed = 0;
for (const one of observed) {
  const { row, name } = one;
  const { pm2, why } = row;
  const differences = compare(one, pm2 === undefined ? row.apps : pm2 && merge(row.apps, pm2));
  if (why !== undefined && !page.includes(why)) differences.push(`from-pm2.md does not contain: ${why}`);
  for (const difference of differences) process.stdout.write(`${name} ${row.shape}: ${difference}\n`);
  unnamed += differences.length;
}
process.stdout.write(`${observed.length} config files, ${unnamed} differences that from-pm2.md does not name\n`);
process.exitCode = unnamed > 0 ? 1 : 0;

function merge(apps, overrides) {
  return Object.fromEntries(Object.entries(apps).map(([name, app]) => [name, { ...app, ...overrides[name] }]));
}
