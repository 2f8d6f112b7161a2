import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';

/** A receiver of one program: a command that appends each message to a file. */
function collector(home) {
  const file = join(home.work, 'messages');
  const messages = () =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      : [];
  return { receiver: `exec:cat >> ${file}; echo >> ${file}`, messages };
}

/** A receiver that is down until open(). `mode` is how it answers. */
async function webhook() {
  const hook = { port: await takePort(), mode: 'fine', attempts: 0, got: [] };
  const answers = {
    fine: (response) => response.end('ok'),
    hangs: () => {},
    floods: (response) => flood(response.writeHead(500)),
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      hook.attempts += 1;
      if (hook.mode === 'fine') hook.got.push(JSON.parse(body));
      answers[hook.mode](response);
    });
  });
  hook.open = () => new Promise((resolve) => server.listen(hook.port, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return hook;
}

function flood(response) {
  while (!response.destroyed && response.write('x'.repeat(4_096)));
  if (!response.destroyed) response.once('drain', () => flood(response));
}

/** A sendmail that counts its mails. */
function fakeSendmail(home) {
  const folder = join(home.work, 'bin');
  mkdirSync(folder);
  writeFileSync(join(folder, 'sendmail'), `#!/bin/sh\ncat >> ${folder}/mails\n`);
  chmodSync(join(folder, 'sendmail'), 0o755);
  const mails = () => (existsSync(join(folder, 'mails')) ? readFileSync(join(folder, 'mails'), 'utf8') : '');
  return { path: `${folder}:${process.env.PATH}`, subjects: () => mails().match(/^Subject: .*$/gm) ?? [], mails };
}

async function killControl(home) {
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
}

const heard = (messages) => messages.map(({ event, app }) => `${event} ${app}`);

test('each receiver gets each message once, also one that is down, hangs and floods while control dies', async () => {
  const home = await sandbox();
  const hook = await webhook();
  const command = collector(home);
  const sendmail = fakeSendmail(home);
  const set = (key, value) => home.nclust('set', key, value, { env: { PATH: sendmail.path } });
  expect(await set('notify.hook', `http://127.0.0.1:${hook.port}/SECRET`)).toMatchObject({ exitStatus: 0 });
  await set('notify.command', command.receiver);
  await set('notify.mail', 'mail:ops@example.com');
  const flags = ['--name', 'api', '--no-wait'];
  await home.nclust('start', home.place('crashes-after'), ...flags, { env: { AFTER_MS: '300' } });
  await home.waitFor('the others', () => command.messages().length === 1 && sendmail.subjects().length === 1);
  const listed = async () => (await home.nclust('notify', 'list', '--json')).json();
  await home.waitFor('the failure', async () =>
    (await listed()).some(({ waiting, problem }) => waiting === 1 && problem?.includes('ECONNREFUSED')),
  );
  expect((await home.nclust('notify', 'list')).stdout).toMatch(
    /notify\.hook +http:\/\/127\.0\.0\.1:\d+\/… .*nothing sent yet; 1 message waiting; .*ECONNREFUSED/,
  );

  await killControl(home);
  hook.mode = 'hangs';
  await hook.open();
  await home.waitFor('an attempt', () => hook.attempts > 0);
  const countSlow = async () => {
    const startedMs = performance.now();
    await home.list();
    return performance.now() - startedMs;
  };
  expect(await countSlow()).toBeLessThan(2_000);
  const before = hook.attempts;
  hook.mode = 'floods';
  await home.waitFor('another attempt', () => hook.attempts > before, { deadlineMs: 30_000 });
  hook.mode = 'fine';
  const isHooked = (event) => hook.got.some((message) => message.event === event);
  await home.waitFor('the messages', () => isHooked('began') && isHooked('manager'), { deadlineMs: 30_000 });
  await home.nclust('delete', 'api');
  await home.waitFor('the end', () => isHooked('ended') && heard(command.messages()).includes('ended api'));

  const all = ['began api', 'manager null', 'ended api'];
  expect(heard(hook.got)).toEqual(all);
  expect(heard(command.messages())).toEqual(all);
  await home.waitFor('the mail', () => sendmail.subjects().length === 3);
  expect(sendmail.subjects()[0]).toMatch(/^Subject: bad: api on host /);
  expect(sendmail.mails()).toContain('To: ops@example.com\n');
  expect(hook.got[0]).toMatchObject({ kind: 'crash-loop', errorLines: [expect.stringContaining('crashes now')] });
  expect(readFileSync(join(home.home, 'nclust.log'), 'utf8')).not.toContain('SECRET');
  for (const words of [['get'], ['notify', 'list', '--json'], ['report'], ['doctor', '--json']])
    expect((await home.nclust(...words)).stdout).not.toContain('SECRET');
}, 120_000);

test('the death of the keeper makes one message, and a kill and a start make none', async () => {
  const home = await sandbox();
  const command = collector(home);
  await home.nclust('set', 'notify.command', command.receiver);
  await home.app('http-echo');
  await home.nclust('kill');
  await home.nclust('resurrect');
  const { keeperPid } = await home.daemon();
  process.kill(keeperPid, 'SIGKILL');
  await home.waitFor('the message', () => command.messages().length > 0);
  await home.waitFor('the next keeper', async () => (await home.daemon()).keeperPid !== keeperPid);
  expect(command.messages()).toMatchObject([
    {
      event: 'manager',
      level: 'bad',
      text: 'the keeper of nclust exited; another one starts, and replaces the workers app by app',
    },
  ]);
});

test('receivers of a config file follow the file without a new process, and show no secret', async () => {
  const home = await sandbox();
  const hook = await webhook();
  await hook.open();
  const file = join(home.work, 'nclust.config.json');
  const write = (path) =>
    writeFileSync(
      file,
      JSON.stringify({
        notify: `http://127.0.0.1:${hook.port}/${path}`,
        apps: [{ name: 'api', script: home.place('keeps-alive') }],
      }),
    );
  write('SECRET');
  await home.nclust('start', file, '--no-wait');
  write('SECRET2');
  const applied = await home.nclust('apply', file);
  expect(applied.exitStatus).toBe(0);
  for (const words of [['describe', 'api'], ['describe', 'api', '--json'], ['jlist']])
    expect((await home.nclust(...words)).stdout).not.toContain('SECRET');
  expect((await home.nclust('describe', 'api')).stdout).toMatch(/notifies +│ http:\/\/127\.0\.0\.1:\d+\/…/);
  expect((await home.list())[0]).toMatchObject({ restarts: 0 });
  expect(applied.stdout + applied.stderr).not.toContain('SECRET');
});

test('notify test reports each receiver, and fails if one fails', async () => {
  const home = await sandbox();
  expect(await home.nclust('notify', 'test')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/No receiver is set\.\n.*nclust set notify\.ops/),
  });
  expect((await home.nclust('notify', 'list')).stdout).toMatch(/^No receiver is set\./);
  const command = collector(home);
  await home.nclust('set', 'notify.good', command.receiver);
  expect(await home.nclust('notify', 'test')).toMatchObject({
    exitStatus: 0,
    stdout: expect.stringMatching(/^sent +good +exec cat …\n$/),
  });
  expect(heard(command.messages())).toEqual(['test null']);
  await home.nclust('set', 'notify.bad', 'exec:exit 7');
  const both = await home.nclust('notify', 'test');
  expect(both).toMatchObject({ exitStatus: 1, stdout: expect.stringMatching(/^failed +bad .*exited with code 7$/m) });
  expect(await home.nclust('notify', 'test', 'good')).toMatchObject({ exitStatus: 0 });
  const { exitStatus, stderr } = await home.nclust('set', 'notify.what', 'SECRET');
  expect([exitStatus, stderr]).toEqual([
    2,
    expect.stringMatching(/"notify\.what" cannot be this text; accepted: "https/),
  ]);
});
