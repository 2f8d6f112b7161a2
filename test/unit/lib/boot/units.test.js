import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { launchdPlist } from '../../../../lib/boot/launchd.js';
import { freebsdScript, openbsdScript, openrcScript } from '../../../../lib/boot/rc-scripts.js';
import { resolveIntent } from '../../../../lib/boot/service.js';
import { systemdUnit } from '../../../../lib/boot/systemd.js';

const SERVICE = {
  name: 'nclust-deploy',
  user: 'root',
  userHome: '/root',
  home: '/root/.nclust',
  launcher: '/root/.nclust/launcher.sh',
  isUserUnit: false,
  waitsForIp: false,
  stopSeconds: 90,
};

/** Characters with a meaning for one of the service managers. */
const ODD = [
  '/srv/my apps',
  '/srv/100%',
  '/srv/a$HOME',
  "/srv/it's",
  '/srv/"quoted"',
  '/srv/a\\b',
  '/srv/a;b',
  '/srv/<a>&b',
  '/srv/%h $HOME $$ %%',
  '/srv/$',
  `/srv/' "$(id)" \`id\` \\n\\`,
  '/srv/grün /#',
];

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;

function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-units-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @param {string | Record<string, string>} [o]  An option, or variables. */
function verify(text, o = {}) {
  const [flags, env] = typeof o === 'string' ? [[o], {}] : [[], o];
  const file = join(temporaryFolder(), 'nclust-deploy.service');
  writeFileSync(file, text);
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...flags, 'verify', file], {
    encoding: 'utf8',
    env: { ...process.env, XDG_RUNTIME_DIR: '/tmp', ...env },
  });
  return { status, said: `${stdout}${stderr}` };
}

describe.runIf(hasAnalyze)('systemd takes the unit (only where systemd-analyze is installed)', () => {
  test.each([
    ['of the system', SERVICE],
    ['that waits for the network', { ...SERVICE, waitsForIp: true }],
    ...ODD.map((home) => [`with a home ${home}`, { ...SERVICE, home, launcher: `${home}/launcher.sh` }]),
  ])('systemd takes the unit %s', (_, service) => {
    expect(verify(systemdUnit(service))).toEqual({ status: 0, said: '' });
  });

  test('systemd takes the unit of a user', () => {
    const unit = systemdUnit({ ...SERVICE, isUserUnit: true });
    expect(verify(unit, '--user')).toEqual({ status: 0, said: '' });
    expect(unit).not.toMatch(/^User=|network/m);
  });

  test.each(['/root/.nclust', ...ODD])('systemd reads the home %s as it is', (home) => {
    const unit = systemdUnit({ ...SERVICE, home, launcher: `${home}/launcher.sh` });
    const { said } = verify(unit, { SYSTEMD_LOG_LEVEL: 'debug' });
    expect(/^\s*RequiresMountsFor: (.*) \(origin-file\)$/m.exec(said)?.[1]).toBe(home);
    const commands = [...said.matchAll(/^\s*Command Line: (.*)$/gm)].map(([, line]) => {
      const shown = execFileSync('sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' });
      return shown.replaceAll('$$', '$'); // As systemd does before it runs the command.
    });
    expect(commands).toEqual([`/bin/sh\n${home}/launcher.sh\ndaemon\n`, `/bin/sh\n${home}/launcher.sh\nreload\nall\n`]);
  });

  test('systemd refuses a broken unit, so the other checks prove something', () => {
    expect(verify(systemdUnit(SERVICE).replace('Type=notify', 'Type=nonsense')).said).toMatch(/nonsense/);
  });
});

describe('the unit of systemd', () => {
  const unit = systemdUnit({ ...SERVICE, stopSeconds: 330 });

  test('the unit of systemd leaves workers running and restarts a manager that was killed', () => {
    expect(unit).toMatch(/^KillMode=process$/m);
    expect(unit).toMatch(/^Restart=always$/m);
    expect(unit).toMatch(/^OOMPolicy=continue$/m);
    expect(unit).toMatch(/^RestartPreventExitStatus=0$/m);
  });

  test('the unit of systemd waits until the slowest app has exited', () => {
    expect(unit).toMatch(/^TimeoutStopSec=330$/m);
  });

  test('the unit lets only the main process of root send notifications, and a child process for another user', () => {
    expect(unit).toMatch(/^NotifyAccess=main$/m);
    expect(systemdUnit({ ...SERVICE, user: 'deploy' })).toMatch(/^NotifyAccess=all$/m);
  });

  test('the unit of systemd contains no fixed PATH and no path of Node.js', () => {
    expect(unit).not.toMatch(/PATH=|\/node/);
  });
});

describe.each([
  ['openrc', openrcScript],
  ['FreeBSD', freebsdScript],
  ['OpenBSD', openbsdScript],
])('the rc script for %s', (_, script) => {
  test.each(['/root/.nclust', ...ODD])('the rc script is a shell script for the home %s', (home) => {
    const file = join(temporaryFolder(), 'script');
    writeFileSync(file, script({ ...SERVICE, home, launcher: `${home}/launcher.sh`, waitsForIp: true }));
    execFileSync('sh', ['-n', file]);
  });
});

/** Runs the settings of an rc script, and shows what the service manager would run, word by word. */
function wordsOf(text, command) {
  const settings = text.replace(/^\. .*$/gm, '').replace(/^(load_rc_config|run_rc_command|rc_cmd) .*$/gm, '');
  const file = join(temporaryFolder(), 'script');
  writeFileSync(file, `${settings}\neval "set -- ${command}"\nprintf '%s\\n' "$@"\n`);
  return execFileSync('sh', [file], { encoding: 'utf8' }).trimEnd().split('\n');
}

test.each(['/root/.nclust', ...ODD])('the rc scripts run the launcher of the home %s', (home) => {
  const service = { ...SERVICE, home, launcher: `${home}/launcher.sh` };
  expect(wordsOf(openrcScript(service), '$command_args')).toEqual([service.launcher, 'daemon']);
  expect(wordsOf(freebsdScript(service), '$command_args').slice(-3)).toEqual(['/bin/sh', service.launcher, 'daemon']);
  expect(wordsOf(openbsdScript(service), '$daemon')).toEqual(['/bin/sh', service.launcher, 'daemon']);
});

test('a service name with a dash is a valid shell variable on BSD', () => {
  expect(freebsdScript(SERVICE)).toMatch(/^rcvar=nclust_deploy_enable$/m);
});

test.each(['/Users/a/.nclust', ...ODD])('launchd reads the property list for the home %s', (home) => {
  const file = join(temporaryFolder(), 'nclust.plist');
  writeFileSync(file, launchdPlist({ ...SERVICE, home, launcher: `${home}/launcher.sh` }));
  const read = execFileSync(
    'python3',
    ['-c', 'import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], "rb"))))', file],
    { encoding: 'utf8' },
  );
  expect(JSON.parse(read)).toMatchObject({
    Label: 'nclust-deploy',
    UserName: 'root',
    ProgramArguments: ['/bin/sh', `${home}/launcher.sh`, 'daemon'],
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    AbandonProcessGroup: true,
    ExitTimeOut: 90,
  });
});

test.each(['/srv/a\nExecStartPre=/bin/false', '/srv/\x1b[2J'])('startup refuses the home %j', (home) => {
  const context = { cwd: '/', env: process.env, node: { file: process.execPath, version: process.version } };
  expect(() => resolveIntent('systemd', { home }, context)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_USAGE', message: expect.stringContaining('without line ends') }),
  );
});
