import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { openInstallation } from '../helpers/installation.js';
import { isRoot, NOBODY, userFolders } from '../helpers/other-user.js';
import { isRunning, killIfThere } from '../helpers/processes.js';
import { runProgram } from '../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../helpers/sandbox.js';

/** @import { Sandbox } from '../helpers/sandbox.js' */

// The user of an app can replace each program that nclust runs as this user. A process can type
// into the terminal of its session. So these programs get nothing of root's shell.

const canTest = isRoot && spawnSync('script', ['--version']).status === 0;

/** The app, its account, nclust (for git), git and a shell set these variables. */
const ALLOWED = /^(PATH|LANG|HOME|USER|LOGNAME|OWN|SOCK|TZ|GIT_\w+|PWD|OLDPWD|SHLVL|_)$/;

/** Each program that nclust runs as the user of the app, by the name of its reports. */
const PROGRAMS = ['git', 'filter', 'node-version', 'node-check', 'secret', 'mkdir'];

/**
 * Reports process, terminal, variables and user, and leaves a process behind. Starts only two
 * programs, because git has a limit of a second.
 * @param {string} reports
 */
const reporter = (reports) => `
read -r _ _ _ _ group session tty _ < /proc/$$/stat
opened=no; (: < /dev/tty) 2>/dev/null && opened=yes
terminals=0; for fd in /proc/$$/fd/*; do [ -t "\${fd##*/}" ] && terminals=1; done
/bin/sleep 1000 < /dev/null > /dev/null 2>&1 &
{
  printf '{ "pid": %s, "group": %s, "session": %s, "tty": %s, "terminals": %s, ' $$ $group $session $tty $terminals
  printf '"opened": "%s", "left": %s, "folder": "%s" }\\n' $opened $! "$(pwd -P)"
  /bin/cat /proc/$$/status /proc/$$/environ
} > ${reports}/$what.$$
`;

/** @param {string} text */
function readReport(text) {
  const [uid, gid, groups] = ['Uid', 'Gid', 'Groups'].map(
    (name) => new RegExp(`^${name}:\\s*(\\d*)`, 'm').exec(text)?.[1],
  );
  const names = [...text.matchAll(/(?:^|\0)(\w+)=/gm)].map(([, name]) => name);
  return { ...JSON.parse(text.split('\n')[0]), ids: [uid, gid, groups], names };
}

/** @param {Sandbox} home */
function stage(home) {
  const { own, open } = userFolders();
  const [reports, bin] = [join(own, 'reports'), join(open, 'bin')];
  mkdirSync(reports);
  mkdirSync(bin);
  const report = join(open, 'report');
  writeFileSync(report, reporter(reports), { mode: 0o644 });
  const program = (path, text) => writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const git = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
  program(join(bin, 'git'), `what=git; . ${report}; exec ${git} "$@"`);
  program(join(bin, 'mkdir'), `what=mkdir; . ${report}; exec /bin/mkdir "$@"`);
  program(
    join(own, 'node'),
    `case "$1" in --version) what=node-version; . ${report};; --check) what=node-check; . ${report};; esac
     exec ${nodeUnderTest()} "$@"`,
  );
  program(join(own, 'filter'), `what=filter; . ${report}; exec /bin/cat`);
  copyFileSync(fixturePath('works-for-nobody.cjs'), join(own, 'app.cjs'));
  writeFileSync(join(own, 'x'), 'one');
  writeFileSync(join(own, '.gitattributes'), 'x filter=own\n');
  for (const name of readdirSync(own)) chownSync(join(own, name), NOBODY.uid, NOBODY.gid);
  const inOwn = (...words) =>
    execFileSync(git, ['-c', 'user.name=A', '-c', 'user.email=a@b', ...words], { ...NOBODY, cwd: own, env: {} });
  inOwn('init', '-q');
  inOwn('add', '.');
  inOwn('commit', '-q', '-m', 'One');
  inOwn('config', 'filter.own.clean', join(own, 'filter'));
  writeFileSync(join(own, 'x'), 'two');
  const config = join(home.work, 'apps.json');
  const app = {
    name: 'app',
    script: join(own, 'app.cjs'),
    cwd: own,
    interpreter: join(own, 'node'),
    uid: 'nobody',
    gid: 'nogroup',
    filter_env: true,
    env: { OWN: 'yes', SOCK: join(own, 'app.sock') },
    secrets: { TOKEN: { command: `what=secret; . ${report}; echo token` } },
    output: join(own, 'logs/out.log'),
    error: join(own, 'logs/err.log'),
  };
  writeFileSync(config, JSON.stringify({ apps: [app] }));
  return { bin, config, own, reports };
}

test.runIf(canTest)('programs of the user of an app get no terminal, session or variable of root', async () => {
  const nclust = `${nodeUnderTest()} ${openInstallation()}`;
  const home = await sandbox();
  const { bin, config, own, reports } = stage(home);
  // Control runs in the variables of the command that started it.
  const env = { ...home.env, PATH: `${bin}:${home.env.PATH}`, TOP_SECRET: 'of root' };
  const typed = async (words) => {
    const { stdout, exitStatus } = await runProgram('script', ['-qefc', words, '/dev/null'], { env, cwd: home.work })
      .done;
    expect([exitStatus, stdout]).toEqual([0, expect.stringContaining('app')]);
  };
  await typed(`${nclust} start ${config}`);
  await typed(`${nclust} reload app`);

  const seen = readdirSync(reports).map((file) => ({
    what: file.split('.')[0],
    ...readReport(readFileSync(join(reports, file), 'utf8')),
  }));
  expect([...new Set(seen.map(({ what }) => what))].sort()).toEqual([...PROGRAMS].sort());
  for (const { left } of seen) onTestFinished(() => killIfThere(left));
  expect(
    seen.map(({ what, pid, session, names, left: _, ...facts }) => ({
      what,
      leads: session === pid,
      others: names.filter((name) => !ALLOWED.test(name)),
      ...facts,
    })),
  ).toEqual(
    seen.map(({ what, session }) => ({
      what,
      leads: !['git', 'filter'].includes(what), // A shell leads the session of git and its filter.
      group: session,
      others: [],
      tty: 0,
      opened: 'no',
      terminals: 0,
      ids: ['65534', '65534', ''],
      folder: ['filter', 'secret'].includes(what) ? own : '/',
    })),
  );
  for (const { what, left } of seen)
    await home.waitFor(`the end of the process that ${what} has left`, () => !isRunning(left));
});
