import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openPage } from '../../helpers/page.js';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';

// The app has secrets in all places where people put secrets. No output of nclust may contain a
// secret, except the outputs in EXCEPTIONS.

const CANARIES = {
  argument: 'canary-of-an-argument',
  command: 'canary-of-a-shell-command',
  variable: 'canary-of-a-variable',
  secret: 'canary-of-a-secret',
  stderr: 'canary-of-a-dsn-on-stderr',
  shipper: 'canary-of-a-log-shipper',
  address: 'canary-of-an-address',
};

const APP = `
  console.error('Error: cannot connect to postgres://me:${CANARIES.stderr}@db/shop');
  if (process.env.DIES) process.exit(1);
  setInterval(() => {}, 1 << 30);
`;

const ITS_OWN = 'the owner asks for what was declared, and scripts of PM2 read it';
const LAST_WORDS = 'the owner asks why an app died, and its last words tell';

/** Outputs whose purpose is to show some canaries. No output may contain the canary `secret`. */
const EXCEPTIONS = {
  'list --json': { may: ['argument', 'command', 'stderr'], because: `${ITS_OWN}; and ${LAST_WORDS}` },
  jlist: { may: ['argument', 'command', 'variable'], because: ITS_OWN },
  prettylist: { may: ['argument', 'command', 'variable'], because: ITS_OWN },
  'describe all': {
    may: ['argument', 'command', 'variable', 'stderr', 'shipper'],
    because: `${ITS_OWN}; and ${LAST_WORDS}`,
  },
  'describe all --json': {
    may: ['argument', 'command', 'variable', 'stderr', 'shipper'],
    because: `${ITS_OWN}; and ${LAST_WORDS}`,
  },
  'env shop': { may: ['variable'], because: ITS_OWN },
  'env shop --json': { may: ['variable'], because: ITS_OWN },
  'why all': { may: ['stderr'], because: LAST_WORDS },
  'why all --json': { may: ['stderr'], because: LAST_WORDS },
  'events --nostream': { may: ['stderr'], because: LAST_WORDS },
  'events --nostream --json': { may: ['stderr'], because: LAST_WORDS },
  'the dashboard, list': { may: ['stderr'], because: 'it shows the lines of the app, too' },
  'monit --json': { may: ['stderr'], because: LAST_WORDS },
  doctor: { may: ['stderr'], because: LAST_WORDS },
  'doctor --json': { may: ['stderr'], because: LAST_WORDS },
  'the dashboard, metrics': { may: ['stderr'], because: LAST_WORDS },
  'events.log': { may: ['stderr'], because: LAST_WORDS },
  'logs --nostream': { may: ['stderr'], because: 'these are the lines of the app' },
  'logs --nostream --json': { may: ['stderr'], because: 'these are the lines of the app' },
  get: { may: ['address'], because: 'this is the setting' },
  'get --json': { may: ['address'], because: 'this is the setting' },
  conf: { may: ['address'], because: 'this is the setting' },
  'conf --json': { may: ['address'], because: 'this is the setting' },
};

const QUESTIONS = [
  ...['list', 'monit', 'describe all', 'why all', 'events --nostream', 'pid', 'id shop', 'env shop'],
  ...['logs --nostream', 'get', 'conf', 'ping', 'doctor', 'report', 'web'],
].flatMap((line) => [line, `${line} --json`]);

test('secrets of an app appear only in the outputs that may show them', async () => {
  const home = await sandbox();
  const port = await takePort();
  const script = join(home.work, 'shop.js');
  writeFileSync(script, APP);
  writeFileSync(join(home.work, 'token.txt'), CANARIES.secret);
  const app = {
    script,
    args: `--token=${CANARIES.argument}`,
    env: { DB_PASSWORD: CANARIES.variable },
    secrets: { TOKEN: { file: 'token.txt' } },
    log_ship: [`exec:false --token=${CANARIES.shipper}`],
  };
  const apps = [
    { ...app, name: 'shop', metrics: true },
    { ...app, name: 'dead', env: { ...app.env, DIES: '1' }, max_restarts: 0 },
  ];
  writeFileSync(join(home.work, 'apps.json'), JSON.stringify({ apps }));
  await home.nclust('set', 'metrics.listen', `127.0.0.1:${port}`);
  await home.nclust('set', 'metrics.otlp', `http://127.0.0.1:1/${CANARIES.address}`);
  const started = [
    await home.nclust('start', 'apps.json', '--no-wait'),
    await home.nclust('start', `sleep 1000 # ${CANARIES.command}`, '--name', 'napper'),
  ];
  await home.waitFor('a given-up app', async () => (await home.list()).some(({ status }) => status === 'errored'));
  await home.waitFor('the notice that metrics cannot be sent', async () =>
    (await home.nclust('list')).stderr.includes('Metrics do not arrive'),
  );
  await home.waitFor('a shipper to fail', () => home.logTail().includes('shipping-failed'));

  const outputs = { start: started.map(({ stdout, stderr }) => stdout + stderr).join('') };
  for (const line of [...QUESTIONS, 'jlist', 'prettylist', 'slist', 'slist --tree']) {
    const { stdout, stderr } = await home.nclust(...line.split(' '));
    outputs[line] = stdout + stderr;
  }
  const page = await openPage((await home.nclust('web')).stdout.trim());
  for (const [method, params] of [
    ['list', { detail: true }],
    ['metrics', { detail: true, custom: true }],
  ])
    outputs[`the dashboard, ${method}`] = JSON.stringify(await page.request(method, params));
  outputs['/metrics'] = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  for (const file of ['nclust.log', 'events.log']) outputs[file] = readFileSync(join(home.home, file), 'utf8');

  const unexpected = Object.entries(outputs).flatMap(([name, text]) =>
    found(text)
      .filter((canary) => !EXCEPTIONS[name]?.may.includes(canary))
      .map((canary) => `${name}: ${canary}`),
  );
  expect(unexpected).toEqual([]);
  const missing = Object.entries(EXCEPTIONS).flatMap(([name, { may }]) =>
    may.filter((canary) => !found(outputs[name] ?? '').includes(canary)).map((canary) => `${name}: ${canary}`),
  );
  expect(missing, 'exceptions that are not needed').toEqual([]);
  expect(filesWith(home.home, CANARIES.secret)).toEqual([]);
});

function found(text) {
  return Object.keys(CANARIES).filter((name) => text.includes(CANARIES[name]));
}

function filesWith(folder, text) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file, 'utf8').includes(text));
}
