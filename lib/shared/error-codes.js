/**
 * @typedef {object} ErrorRow
 * @property {number} exitStatus  1 refused or failed, 2 usage, 3 daemon unreachable.
 * @property {string} when
 * @property {string} remedy
 */

/** All codes. docs/errors.md has the same rows; a test compares the two. */
export const ERRORS = /** @satisfies {Record<string, ErrorRow>} */ ({
  ERR_NCLUST_APPLY_FAILED: {
    exitStatus: 1,
    when: '`apply` could not make every app what the file says. The others are.',
    remedy: 'The message says what became of each; mend it and apply the file again.',
  },
  ERR_NCLUST_APP_EXISTS: {
    exitStatus: 1,
    when: 'An app of this name is already in the list.',
    remedy: 'Restart it, choose another `--name`, or give `--force` to start it once more.',
  },
  ERR_NCLUST_APP_NOT_FOUND: {
    exitStatus: 1,
    when: 'No app, id, namespace, script or pattern in the list matches the target.',
    remedy: 'Look at `nclust list`; the message names the nearest matches.',
  },
  ERR_NCLUST_BAD_CONFIG: {
    exitStatus: 1,
    when: 'A config file cannot be read, or what it says about an app is wrong.',
    remedy:
      'The message lists everything that is wrong: where, what was found and what is accepted. `nclust ' +
      'validate` looks at a file and starts nothing.',
  },
  ERR_NCLUST_BAD_INSTANCES: {
    exitStatus: 2,
    when: 'The number of instances is not a number, `max`, `+N`, `-N` or `N%`, or it comes out below 1.',
    remedy: 'Give one of those forms; use `nclust stop` to have none.',
  },
  ERR_NCLUST_BAD_SELECTOR: {
    exitStatus: 2,
    when: 'A target is not usable, for example a `/pattern/` that is not a regular expression.',
    remedy: 'Give a name, an id, a namespace, a script path, `/pattern/` or `all`.',
  },
  ERR_NCLUST_BAD_SETTING: {
    exitStatus: 2,
    when: 'There is no setting of this name, or it cannot have this value.',
    remedy: 'The message names the nearest keys, or what is accepted; `nclust get` shows all of them.',
  },
  ERR_NCLUST_BAD_SIGNAL: {
    exitStatus: 2,
    when: 'The signal has no meaning on this system.',
    remedy: 'Give a name such as `SIGUSR2` or its number.',
  },
  ERR_NCLUST_BAD_SPEC: {
    exitStatus: 1,
    when: 'A setting of an app has a wrong type or value.',
    remedy: 'The message names the key, what was found and what is accepted.',
  },
  ERR_NCLUST_CLOSED: {
    exitStatus: 1,
    when: 'A program has closed its connection, and asked something afterwards.',
    remedy: 'Call `close()` last; `connect()` makes a new one.',
  },
  ERR_NCLUST_CONFIG_EXISTS: {
    exitStatus: 1,
    when: '`nclust init` would overwrite a config file.',
    remedy: 'Edit the one that is there, or move it away.',
  },
  ERR_NCLUST_CONFIG_NOT_FOUND: {
    exitStatus: 1,
    when: 'There is no such config file, or none in the folder.',
    remedy: 'Check the path; write a config file with `nclust init`.',
  },
  ERR_NCLUST_CONNECTION_LOST: {
    exitStatus: 3,
    when: 'The manager went away before it answered and could not be reached again.',
    remedy: 'Run the command again; the reason is in `nclust.log` in the home.',
  },
  ERR_NCLUST_CWD_NOT_FOUND: {
    exitStatus: 1,
    when: 'The working directory of the app does not exist or is not a directory.',
    remedy: 'Create it or give another `--cwd`.',
  },
  ERR_NCLUST_DAEMON_NOT_RUNNING: {
    exitStatus: 3,
    when: 'The command needs a running manager, and it is one of those that never start it.',
    remedy: 'Start an app with `nclust start`; that starts the manager too.',
  },
  ERR_NCLUST_DAEMON_UNREACHABLE: {
    exitStatus: 3,
    when: 'The manager did not start or did not answer in time.',
    remedy: 'The message shows the end of `nclust.log` in the home, where the reason is.',
  },
  ERR_NCLUST_DEPLOY_BAD_CONFIG: {
    exitStatus: 2,
    when: 'The settings of a deployment lack something, or hold something wrong.',
    remedy: 'The message names every key, what was found and what is accepted.',
  },
  ERR_NCLUST_DEPLOY_FAILED: {
    exitStatus: 1,
    when: 'A step of a deployment failed on a host.',
    remedy: 'The message says which step, and what runs where now.',
  },
  ERR_NCLUST_DUMP_BAD: {
    exitStatus: 1,
    when: '`dump.json` and its copy cannot be read as a saved list.',
    remedy: 'Move the file away, start the apps and `nclust save` again.',
  },
  ERR_NCLUST_DUMP_MISSING: {
    exitStatus: 1,
    when: 'There is no saved list to bring back.',
    remedy: 'Start the apps, then run `nclust save`.',
  },
  ERR_NCLUST_ELSEWHERE: {
    exitStatus: 1,
    when: 'A command of PM2 that nclust does not have, because something else does its work.',
    remedy: 'The message says what.',
  },
  ERR_NCLUST_EMPTY_LIST: {
    exitStatus: 1,
    when: '`save` would replace the saved list by an empty one.',
    remedy: 'Give `--force` if that is what you want.',
  },
  ERR_NCLUST_ENV_FILE: {
    exitStatus: 1,
    when: 'A file of `env_file` is missing, cannot be read, is no file or has more than 1 MB; nothing was touched.',
    remedy: 'The message names the path and the reason; a relative path counts from the working directory of the app.',
  },
  ERR_NCLUST_FILE_UNWRITABLE: {
    exitStatus: 1,
    when:
      'A command was to write a file of yours (a config file, the start file of a shell), and the ' +
      'system did not let it.',
    remedy: 'The message names the path and the reason; fix the permissions of the file or of its folder.',
  },
  ERR_NCLUST_FOLDER_NOT_FOUND: {
    exitStatus: 1,
    when: 'The folder to serve does not exist, or is no folder.',
    remedy: 'Give the folder with the files.',
  },
  ERR_NCLUST_HOME_EXPOSED: {
    exitStatus: 1,
    when: 'Another user could put a folder of their own in the place of the home: see "Its folders" in start.md.',
    remedy: 'The message names the folder; close it (`chmod go-w`) or point `NCLUST_HOME` at a folder of your own.',
  },
  ERR_NCLUST_HOME_FOREIGN: {
    exitStatus: 1,
    when: 'The home belongs to another user.',
    remedy: 'Run the command as that user, or point `NCLUST_HOME` at a folder of your own.',
  },
  ERR_NCLUST_HOME_NOT_DIRECTORY: {
    exitStatus: 1,
    when: 'The home is a file.',
    remedy: 'Move it away or point `NCLUST_HOME` elsewhere.',
  },
  ERR_NCLUST_HOME_OPEN: {
    exitStatus: 1,
    when: 'Other users may enter the home, and it holds files that are not of nclust.',
    remedy: 'Point `NCLUST_HOME` at a folder of its own, or `chmod 700` this one.',
  },
  ERR_NCLUST_HOME_TOO_LONG: {
    exitStatus: 1,
    when: 'The path of the home is too long for the sockets in it; systems allow 107 bytes (macOS: 103).',
    remedy: 'Point `NCLUST_HOME` at a shorter path.',
  },
  ERR_NCLUST_HOME_UNWRITABLE: {
    exitStatus: 1,
    when: 'The home cannot be created or written to.',
    remedy: 'Mend its permissions or point `NCLUST_HOME` at a folder you can write to.',
  },
  ERR_NCLUST_IMPORT: {
    exitStatus: 1,
    when: 'The list of PM2 is not there or cannot be read, or some of its apps could not be taken over.',
    remedy: 'The message says which and why; see `nclust import pm2 --dry-run`.',
  },
  ERR_NCLUST_INTERNAL: {
    exitStatus: 1,
    when: 'Something happened that should be impossible: a fault in nclust.',
    remedy: 'Report it with the message and the end of `nclust.log`.',
  },
  ERR_NCLUST_INTERPRETER_NOT_FOUND: {
    exitStatus: 1,
    when: 'The program that should run the script is not in PATH or cannot be executed.',
    remedy: 'Install it or give its path with `--interpreter`.',
  },
  ERR_NCLUST_INTERPRETER_UNSUPPORTED: {
    exitStatus: 1,
    when: 'The interpreter cannot run this kind of script, or is written in a form nclust does not know.',
    remedy: 'The message says which interpreter can; give it with `--interpreter`.',
  },
  ERR_NCLUST_INTERRUPTED: {
    exitStatus: 130,
    when:
      'Ctrl-C ended a command that was waiting, or a signal a call of a program. What it asked for goes ' +
      'on in the manager.',
    remedy: 'See how far it is with `nclust list`.',
  },
  ERR_NCLUST_KEEPER_OUTDATED: {
    exitStatus: 1,
    when: 'The keeper that runs is older than this command needs: the manager was updated in part, or not at all.',
    remedy: 'Replace it with `nclust update`.',
  },
  ERR_NCLUST_NOT_PERMITTED: {
    exitStatus: 1,
    when: 'Only root may do this, for example start an app as another user.',
    remedy: 'Run the command as root or leave the option out.',
  },
  ERR_NCLUST_NOT_REACHABLE: {
    exitStatus: 1,
    when:
      'A process has no way in for what was asked: it is no Node program, a cluster worker has no ' +
      'standard input, it has closed its side, or its keeper has died.',
    remedy: 'The message says which; restart the app where its keeper has died.',
  },
  ERR_NCLUST_NOT_READING: {
    exitStatus: 1,
    when: 'An app does not read its standard input or its messages, and what may wait for it does already.',
    remedy: 'Check what it does; a restart empties the queue.',
  },
  ERR_NCLUST_NOT_UP: {
    exitStatus: 1,
    when: 'An app did not get up: it exited, was not ready in time or could not be started.',
    remedy: 'Read the last error lines in the message, then `nclust logs` and `nclust describe`.',
  },
  ERR_NCLUST_NO_ACTION: {
    exitStatus: 1,
    when: '`trigger` found no process that has registered the action.',
    remedy: 'The message lists the actions there are; `nclust describe` shows them too.',
  },
  ERR_NCLUST_NO_FOLDER: {
    exitStatus: 1,
    when: 'The folder in which the command runs has been removed.',
    remedy: 'Go to another folder and run the command again.',
  },
  ERR_NCLUST_NO_PROCESS: {
    exitStatus: 1,
    when: 'The apps are in the list, and none of their processes runs.',
    remedy: 'Start them, or choose another target.',
  },
  ERR_NCLUST_NO_REPLY: {
    exitStatus: 1,
    when: 'A process did not answer in time.',
    remedy: 'See with `nclust describe` and `nclust logs` what it does; its event loop may be blocked.',
  },
  ERR_NCLUST_PLATFORM: {
    exitStatus: 1,
    when: 'nclust does not run on this operating system.',
    remedy: 'Use Linux or macOS; on Windows, WSL.',
  },
  ERR_NCLUST_PREFLIGHT: {
    exitStatus: 1,
    when:
      'A reload was not begun, because it could not have come to a good end: the script is missing or ' +
      'does not parse, the interpreter or the folder is missing, or `PORT` is above 65535 or below 0. Or a ' +
      'restart of what runs was not, because one of these is missing. Or a reload, start or scaling was not, ' +
      'because the open files of the manager (`ulimit -n`) or the processes of its control group (`pids.max`) are ' +
      'fewer than so many instances need.',
    remedy: 'The message says what; mend it and repeat the command. Nothing was touched.',
  },
  ERR_NCLUST_PROFILE_BUSY: {
    exitStatus: 1,
    when: 'A profile of this process is under way already.',
    remedy: 'Wait until it is done, or stop the command that takes it.',
  },
  ERR_NCLUST_PROTOCOL: {
    exitStatus: 1,
    when: 'A message between the command and the manager was not understood.',
    remedy: 'Look whether another nclust version is installed; restart the manager with `nclust kill`.',
  },
  ERR_NCLUST_PROTOCOL_VERSION: {
    exitStatus: 1,
    when: 'The running manager speaks another version of the protocol than this command.',
    remedy: "Use the nclust that started it, or restart the manager with that one's `nclust kill`.",
  },
  ERR_NCLUST_RELOAD_FAILED: {
    exitStatus: 1,
    when:
      'A new instance crashed, hung or was not ready in time, and the reload stopped there. The message ' +
      'says what is serving.',
    remedy: 'Read its last error lines in the message, mend the code and reload again.',
  },
  ERR_NCLUST_ROLLED_BACK: {
    exitStatus: 1,
    when: 'Within the rollback window the new instances did worse than the old ones, which took the traffic back.',
    remedy: 'The message says what tripped it; `nclust logs` has the output of the new instances.',
  },
  ERR_NCLUST_SCRIPT_NOT_FOUND: {
    exitStatus: 1,
    when: 'What should be started is no file, no program in PATH and no app in the list.',
    remedy: 'Check the path; a shell command needs quotes around the whole of it.',
  },
  ERR_NCLUST_SECRET: {
    exitStatus: 1,
    when:
      'The value of a secret is not available: its file cannot be read, or its command failed or took ' +
      'longer than 10 s.',
    remedy:
      'The message names the secret and the reason, never what the command said; run the command as the ' +
      'owner of the app to see that.',
  },
  ERR_NCLUST_SETTINGS_FILE: {
    exitStatus: 1,
    when: '`settings.json` in the home cannot be read as settings, or cannot be written; nothing was changed.',
    remedy: 'Mend the file or move it away; the message says what is wrong with it.',
  },
  ERR_NCLUST_SHUTTING_DOWN: {
    exitStatus: 1,
    when: 'The manager is being ended by `nclust kill` or a signal and takes no new work.',
    remedy: 'Run the command again in a moment.',
  },
  ERR_NCLUST_STARTUP: {
    exitStatus: 1,
    when:
      'The service that starts the manager at boot could not be installed or removed: there is no ' +
      'service manager that nclust knows, or it refused.',
    remedy: 'The message says what failed, or what to use instead.',
  },
  ERR_NCLUST_STATE_WRITE: {
    exitStatus: 1,
    when: 'The desired state could not be written to disk; nothing was changed.',
    remedy:
      'Make room on the disk ("nclust flush" empties the log files) or fix the permissions of the home, ' +
      'then repeat the command.',
  },
  ERR_NCLUST_TIMEOUT: {
    exitStatus: 3,
    when: 'A call of a program was not answered within its `timeoutMs`. What it asked for may go on in the manager.',
    remedy: 'See how far it is with `list()`, or allow it more time.',
  },
  ERR_NCLUST_UPDATE_BUSY: {
    exitStatus: 1,
    when: 'Another `nclust update`, to another installation, is under way or came after this one.',
    remedy: 'See with `nclust ping` which version runs, and update again if it is not the one you want.',
  },
  ERR_NCLUST_UPDATE_FAILED: {
    exitStatus: 1,
    when:
      'The manager could not be replaced by the version of the command: its files are not usable, it ' +
      'did not get ready, or it crashed or hung soon after. The one that ran before goes on.',
    remedy: 'The message says why; install nclust again and repeat `nclust update`.',
  },
  ERR_NCLUST_USAGE: {
    exitStatus: 2,
    when: 'The command line is not understood.',
    remedy: 'The message names the option or argument; see `nclust help <command>`.',
  },
  ERR_NCLUST_WEB_FAILED: {
    exitStatus: 1,
    when: 'The dashboard cannot be served: another program has the address, say.',
    remedy:
      'The message names the address and says why; `nclust web --listen 127.0.0.1:0` takes any port that is free.',
  },
  ERR_NCLUST_WEB_REFUSED: {
    exitStatus: 1,
    when: 'A page has asked for something that the dashboard does not do, or not while it may only look.',
    remedy: 'Use the command line, or let it act: `nclust web --allow-actions`.',
  },
});
