import { expect, test } from 'vitest';
import { sourceFiles } from '../helpers/source-tree.js';

// Only retire.js may stop an app with a signal, because a signal before the drain loses requests,
// and signals from two places may end the wrong process. The table shows which files send signals.
const ALLOWED = {
  'daemon/keeper/retire.js': 'the one place that ends processes',
  'daemon/keeper/host/processes.js': 'how a signal is sent',
  'daemon/keeper/keeper.js': 'the verb `signal`: what a user asks for with sendSignal',
  'daemon/keeper/control-supervisor.js': 'a control on trial that does not answer: no app',
  'daemon/control/keeper-link/launch.js': 'a keeper that hangs before it has taken over: no app',
  'daemon/control/keeper-link/session.js': 'a keeper that hangs, at `kill`: no app',
  'daemon/control/logs/shipping/transports.js':
    'a command that logs go to and that does not end with its input: no app',
  'lib/client/end-manager.js': 'a manager that does not answer, before `kill` starts the next: no app',
  'lib/shared/host/run-as-user.js': 'a program such as git, and what it has left behind: no app',
  'lib/shared/daemon/keeper-process.js': 'a keeper whose socket was removed: SIGHUP, no app',
  'lib/commands/daemon.js': 'the manager itself, at the end or when half of it hangs: no app',
  'lib/commands/monit.js': 'the command itself, which puts the terminal right first: no app',
  'lib/config/file/evaluate.js':
    'a config file that has told what it exports, and may have left something running: no app',
  'lib/deploy/remote.js': 'an ssh of its own: no app',
  'lib/library/pm2/pm2.js': 'a method of this name: no signal',
};

test('only a retire of an instance sends a stop signal', () => {
  const senders = sourceFiles('bin', 'lib', 'daemon')
    // Signal 0 only checks whether a process exists.
    .filter(({ code }) => /(\.kill|\bsignalProcess)\((?!.*, 0\))/.test(code))
    .map(({ path }) => path);
  expect(senders.filter((path) => !(path in ALLOWED))).toEqual([]);
});
