import { JSON_OPTION, NO_WAIT, load } from './row.js';

/** @type {[string, string][]} */
const PLACE = [
  ['-u, --user <user>', 'whose manager (default: this user)'],
  ['--hp <folder>', 'home directory of that user; the home of nclust is .nclust in it'],
  ['--home <folder>', 'the home of nclust itself, where it is another one'],
  ['--service-name <name>', 'name of the service (default: nclust-<user>)'],
  ['--user-unit', 'a service of the user\'s own, which needs no root'],
];

/** @type {[string, string][]} */
const SHOW = [['--print', 'show the files and commands, and do nothing'], ['--dry-run', 'the same as --print'], JSON_OPTION];

/** Coming back after a reboot, and coming over from PM2. @type {import('./row.js').Command[]} */
export const BOOT = [
  {
    name: 'startup', words: '[platform]', brief: 'start the manager and the apps when the machine boots', help: 'start the manager and what should run when the machine boots',
    options: [...PLACE, ['--wait-ip', 'not before the network has an address'], ...SHOW],
    examples: ['nclust startup', 'nclust startup systemd --user-unit', 'nclust startup --print', 'nclust startup systemd -u deploy --hp /home/deploy'],
    load: load(() => import('../commands/startup.js'), 'startup', async () => (await import('../render/startup.js')).renderStartup),
  },
  {
    name: 'unstartup', words: '[platform]', help: 'take that back; what runs goes on', options: [...PLACE, ...SHOW],
    load: load(() => import('../commands/unstartup.js'), 'unstartup', async () => (await import('../render/startup.js')).renderStartup),
  },
  {
    name: 'daemon', brief: 'run the manager in the foreground, for supervisors', help: 'run the manager in the foreground, for supervisors; Ctrl-C ends it and its apps, SIGHUP reloads them', options: [JSON_OPTION],
    load: load(() => import('../commands/daemon.js'), 'daemon', async () => () => ''),
  },
  {
    name: 'cleardump', help: 'save an empty list: resurrect brings nothing back', options: [JSON_OPTION],
    load: load(() => import('../commands/cleardump.js'), 'cleardump', async () => ({ file }) => `${file}\n`),
  },
  {
    name: 'import', words: '<pm2> [file]', brief: 'take over the apps of PM2, which is left alone', help: 'take over what PM2 has saved, or with --live what it runs; PM2 is left alone',
    options: [['--live', 'what "pm2 jlist" lists, in place of the saved list'], ['--dry-run', 'show what would be started, and do nothing'], NO_WAIT, JSON_OPTION],
    examples: ['nclust import pm2 --dry-run', 'nclust import pm2 /home/deploy/.pm2/dump.pm2', 'nclust import pm2 --live'],
    load: load(() => import('../commands/import.js'), 'importList', async () => (await import('../render/imported.js')).renderImported),
  },
];
