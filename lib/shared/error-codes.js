/**
 * @typedef {object} ErrorRow
 * @property {number} exitStatus  1 refused or failed, 2 usage, 3 daemon unreachable, 130 Ctrl-C.
 * @property {string} when
 * @property {string} remedy
 */

/** docs/errors.md has the same rows; a test compares the two. */
export const ERRORS = /** @satisfies {Record<string, ErrorRow>} */ ({
  ERR_NCLUST_APPLY_FAILED: {
    exitStatus: 1,
    when: '`apply` failed for some apps. The other apps match the file now.',
    remedy: 'The message lists the result for each app; fix the cause and apply the file again.',
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
    when: 'A config file cannot be read, or contains a wrong setting.',
    remedy:
      'The message lists all faults: where, what was found and what is accepted. `nclust ' +
      'validate` checks a file and starts nothing.',
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
    when: 'A program used its connection after it had closed it.',
    remedy: 'Call `close()` last; `connect()` makes a new one.',
  },
  ERR_NCLUST_CONFIG_EXISTS: {
    exitStatus: 1,
    when: '`nclust init` would overwrite a config file.',
    remedy: 'Edit the existing file, or move it away.',
  },
  ERR_NCLUST_CONFIG_NOT_FOUND: {
    exitStatus: 1,
    when: 'There is no such config file, or none in the folder.',
    remedy: 'Check the path; write a config file with `nclust init`.',
  },
  ERR_NCLUST_CONNECTION_LOST: {
    exitStatus: 3,
    when: 'The manager exited before it answered and could not be reached again.',
    remedy: 'Run the command again; the reason is in `nclust.log` in the home.',
  },
  ERR_NCLUST_CWD_NOT_FOUND: {
    exitStatus: 1,
    when: 'The working directory of the app does not exist or is not a directory.',
    remedy: 'Create it or give another `--cwd`.',
  },
  ERR_NCLUST_DAEMON_NOT_RUNNING: {
    exitStatus: 3,
    when: 'The command needs a running manager, and does not start one.',
    remedy: 'Start an app with `nclust start`; that starts the manager too.',
  },
  ERR_NCLUST_DAEMON_UNREACHABLE: {
    exitStatus: 3,
    when: 'The manager did not start or did not answer in time.',
    remedy: 'The message shows the end of `nclust.log` in the home, where the reason is.',
  },
  ERR_NCLUST_DEPLOY_BAD_CONFIG: {
    exitStatus: 2,
    when: 'A setting of the deployment is missing or wrong.',
    remedy: 'The message names every key, what was found and what is accepted.',
  },
  ERR_NCLUST_DEPLOY_FAILED: {
    exitStatus: 1,
    when: 'A step of a deployment failed on a host.',
    remedy: 'The message names the step, and what each host runs now.',
  },
  ERR_NCLUST_DUMP_BAD: {
    exitStatus: 1,
    when: '`dump.json` and its copy cannot be read as a saved list.',
    remedy: 'Move the file away, start the apps and `nclust save` again.',
  },
  ERR_NCLUST_DUMP_MISSING: {
    exitStatus: 1,
    when: 'There is no saved list to restore.',
    remedy: 'Start the apps, then run `nclust save`.',
  },
  ERR_NCLUST_ELSEWHERE: {
    exitStatus: 1,
    when: 'nclust does not have this command of PM2.',
    remedy: 'The message names the replacement.',
  },
  ERR_NCLUST_EMPTY_LIST: {
    exitStatus: 1,
    when: '`save` would replace the saved list by an empty one.',
    remedy: 'Give `--force` if that is what you want.',
  },
  ERR_NCLUST_ENV_FILE: {
    exitStatus: 1,
    when: 'A file of `env_file` is missing, cannot be read, is not a file or has more than 1 MB; nothing was changed.',
    remedy: 'The message names the path and the reason; a relative path counts from the working directory of the app.',
  },
  ERR_NCLUST_FILE_UNWRITABLE: {
    exitStatus: 1,
    when:
      'A command could not write one of your files (a config file, the start file of a shell), because the ' +
      'system refused it.',
    remedy: 'The message names the path and the reason; fix the permissions of the file or of its folder.',
  },
  ERR_NCLUST_FOLDER_NOT_FOUND: {
    exitStatus: 1,
    when: 'The folder to serve does not exist, or is not a folder.',
    remedy: 'Give the folder with the files.',
  },
  ERR_NCLUST_HOME_EXPOSED: {
    exitStatus: 1,
    when: 'Another user could replace the home by another folder: see "Its folders" in start.md.',
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
    when: 'Other users may enter the home, and it contains files that do not belong to nclust.',
    remedy: 'Point `NCLUST_HOME` at another folder, or `chmod 700` this one.',
  },
  ERR_NCLUST_HOME_TOO_LONG: {
    exitStatus: 1,
    when: 'The path of the home is too long for the sockets in it; systems allow 107 bytes (macOS: 103).',
    remedy: 'Point `NCLUST_HOME` at a shorter path.',
  },
  ERR_NCLUST_HOME_UNWRITABLE: {
    exitStatus: 1,
    when: 'The home cannot be created or written to.',
    remedy: 'Fix its permissions or point `NCLUST_HOME` at a folder you can write to.',
  },
  ERR_NCLUST_IMPORT: {
    exitStatus: 1,
    when: 'The list of PM2 is missing or cannot be read, or some of its apps could not be taken over.',
    remedy: 'The message names them with the reason; see `nclust import pm2 --dry-run`.',
  },
  ERR_NCLUST_INTERNAL: {
    exitStatus: 1,
    when: 'This is a bug in nclust.',
    remedy: 'Report it with the message and the end of `nclust.log`.',
  },
  ERR_NCLUST_INTERPRETER_NOT_FOUND: {
    exitStatus: 1,
    when: 'The program that should run the script is not in PATH or cannot be executed.',
    remedy: 'Install it or give its path with `--interpreter`.',
  },
  ERR_NCLUST_INTERPRETER_UNSUPPORTED: {
    exitStatus: 1,
    when: 'The interpreter cannot run this kind of script, or has an unknown form.',
    remedy: 'The message names a suitable interpreter; give it with `--interpreter`.',
  },
  ERR_NCLUST_INTERRUPTED: {
    exitStatus: 130,
    when:
      'Ctrl-C ended a command that was waiting, or a signal ended a call of a program. The change goes ' +
      'on in the manager.',
    remedy: 'See its progress with `nclust list`.',
  },
  ERR_NCLUST_KEEPER_OUTDATED: {
    exitStatus: 1,
    when: 'The running keeper is too old for this command: the manager was updated in part, or not at all.',
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
      'A process does not support this: it is not a Node.js program, a cluster worker has no ' +
      'standard input, it has closed its side, or its keeper has died.',
    remedy: 'The message names the reason; if its keeper has died, restart the app.',
  },
  ERR_NCLUST_NOT_READING: {
    exitStatus: 1,
    when: 'An app does not read its standard input or its messages, and its queue is full.',
    remedy: 'Check what it does; a restart empties the queue.',
  },
  ERR_NCLUST_NOT_UP: {
    exitStatus: 1,
    when: 'An app did not get up: it exited, was not ready in time or could not be started.',
    remedy: 'Read the last error lines in the message, then run `nclust logs` and `nclust describe`.',
  },
  ERR_NCLUST_NO_ACTION: {
    exitStatus: 1,
    when: '`trigger` found no process that has registered the action.',
    remedy: 'The message lists the existing actions; `nclust describe` shows them too.',
  },
  ERR_NCLUST_NO_FOLDER: {
    exitStatus: 1,
    when: 'The folder in which the command runs has been removed.',
    remedy: 'Go to another folder and run the command again.',
  },
  ERR_NCLUST_NO_PROCESS: {
    exitStatus: 1,
    when: 'The apps are in the list, but none of their processes runs.',
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
      'A reload was refused, because it was certain to fail: the script is missing or ' +
      'does not parse, the interpreter or the folder is missing, or `PORT` is above 65535 or below 0. Or a ' +
      'restart was refused, because one of these is missing. Or a reload, start or scaling was refused, ' +
      'because the open files of the manager (`ulimit -n`) or the processes of its control group (`pids.max`) are ' +
      'fewer than the instances need.',
    remedy: 'The message names the cause; fix it and repeat the command. Nothing was changed.',
  },
  ERR_NCLUST_PROFILE_BUSY: {
    exitStatus: 1,
    when: 'Another profile of this process is in progress.',
    remedy: 'Wait until it is done, or stop the command that takes it.',
  },
  ERR_NCLUST_PROTOCOL: {
    exitStatus: 1,
    when: 'A message between the command and the manager was not understood.',
    remedy: 'Check whether another nclust version is installed; restart the manager with `nclust kill`.',
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
      'names what is serving.',
    remedy: 'Read its last error lines in the message, fix the code and reload again.',
  },
  ERR_NCLUST_ROLLED_BACK: {
    exitStatus: 1,
    when: 'Within the rollback window the new instances were worse than the old ones, which took the traffic back.',
    remedy: 'The message names the value that was worse; `nclust logs` shows the output of the new instances.',
  },
  ERR_NCLUST_SCRIPT_NOT_FOUND: {
    exitStatus: 1,
    when: 'The word is not a file, a program in PATH, or an app in the list.',
    remedy: 'Check the path; put quotes around a whole shell command.',
  },
  ERR_NCLUST_SECRET: {
    exitStatus: 1,
    when:
      'The value of a secret is not available: its file cannot be read, or its command failed or took ' +
      'longer than 10 s.',
    remedy:
      'The message names the secret and the reason, never the output of the command; run the command as the ' +
      'owner of the app to see it.',
  },
  ERR_NCLUST_SETTINGS_FILE: {
    exitStatus: 1,
    when: '`settings.json` in the home cannot be read as settings, or cannot be written; nothing was changed.',
    remedy: 'Fix the file or move it away; the message names the fault.',
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
    remedy: 'The message names the failed step, or a replacement.',
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
    when: 'A call of a program was not answered within its `timeoutMs`. The manager may still carry it out.',
    remedy: 'See its progress with `list()`, or allow more time.',
  },
  ERR_NCLUST_UPDATE_BUSY: {
    exitStatus: 1,
    when: 'Another `nclust update`, to another installation, is in progress or came after this one.',
    remedy: 'See with `nclust ping` which version runs, and update again if it is not the one you want.',
  },
  ERR_NCLUST_UPDATE_FAILED: {
    exitStatus: 1,
    when:
      'The manager could not be replaced by the version of the command: its files are not usable, it ' +
      'did not get ready, or it crashed or hung soon after. The previous version goes on.',
    remedy: 'The message names the reason; install nclust again and repeat `nclust update`.',
  },
  ERR_NCLUST_USAGE: {
    exitStatus: 2,
    when: 'The command line is not valid.',
    remedy: 'The message names the option or argument; see `nclust help <command>`.',
  },
  ERR_NCLUST_WEB_FAILED: {
    exitStatus: 1,
    when: 'The dashboard cannot be served: another program has the address, say.',
    remedy:
      'The message names the address and the reason; `nclust web --listen 127.0.0.1:0` takes any port that is free.',
  },
  ERR_NCLUST_WEB_REFUSED: {
    exitStatus: 1,
    when: 'A page has asked for something that the dashboard does not do, or not while it may only look.',
    remedy: 'Use the command line, or let it act: `nclust web --allow-actions`.',
  },
});
