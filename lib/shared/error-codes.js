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
    remedy: 'Fix the causes in the message and apply again.',
  },
  ERR_NCLUST_APP_EXISTS: {
    exitStatus: 1,
    when: 'An app of this name is already in the list.',
    remedy: 'Restart it, choose another `--name`, or start it once more with `--force`.',
  },
  ERR_NCLUST_APP_NOT_FOUND: {
    exitStatus: 1,
    when: 'The list has no app, id, namespace or script that matches the target.',
    remedy: 'Use a name of `nclust list`, or one that the message proposes.',
  },
  ERR_NCLUST_BAD_CONFIG: {
    exitStatus: 1,
    when: 'A config file cannot be read, or has a wrong setting.',
    remedy: 'Fix the faults in the message. `nclust validate` checks a file and starts nothing.',
  },
  ERR_NCLUST_BAD_INSTANCES: {
    exitStatus: 2,
    when: 'The number of instances has an unknown form, or comes out below 1.',
    remedy: 'Give a number, `max`, `+N`, `-N` or `N%`. To have none, use `nclust stop`.',
  },
  ERR_NCLUST_BAD_SELECTOR: {
    exitStatus: 2,
    when: 'A target has a wrong form, for example an invalid `/pattern/`.',
    remedy: 'Give a name, an id, a namespace, a script path, `/pattern/` or `all`.',
  },
  ERR_NCLUST_BAD_SETTING: {
    exitStatus: 2,
    when: 'The setting does not exist, or does not accept this value.',
    remedy: 'Use what the message proposes. `nclust get` lists all settings.',
  },
  ERR_NCLUST_BAD_SIGNAL: {
    exitStatus: 2,
    when: 'This system does not have this signal.',
    remedy: 'Give a name such as `SIGUSR2`, or its number.',
  },
  ERR_NCLUST_BAD_SPEC: {
    exitStatus: 1,
    when: 'A setting of an app has a wrong type or value.',
    remedy: 'Give a value that the message names.',
  },
  ERR_NCLUST_CLOSED: {
    exitStatus: 1,
    when: 'A program used its connection after `close()`.',
    remedy: 'Call `close()` last. `connect()` makes a new connection.',
  },
  ERR_NCLUST_CONFIG_EXISTS: {
    exitStatus: 1,
    when: '`nclust init` would overwrite a config file.',
    remedy: 'Edit the existing file, or move it away.',
  },
  ERR_NCLUST_CONFIG_NOT_FOUND: {
    exitStatus: 1,
    when: 'The config file does not exist.',
    remedy: 'Check the path, or run `nclust init`.',
  },
  ERR_NCLUST_CONNECTION_LOST: {
    exitStatus: 3,
    when: 'The manager exited before it answered, and did not come back.',
    remedy: 'Read `nclust.log`, then run the command again.',
  },
  ERR_NCLUST_CWD_NOT_FOUND: {
    exitStatus: 1,
    when: 'The working directory of the app does not exist.',
    remedy: 'Create it, or give another `--cwd`.',
  },
  ERR_NCLUST_DAEMON_NOT_RUNNING: {
    exitStatus: 3,
    when: 'The manager does not run, and this command does not start it.',
    remedy: '`nclust resurrect` brings the apps of the list back. Without any: `nclust start`.',
  },
  ERR_NCLUST_DAEMON_UNREACHABLE: {
    exitStatus: 3,
    when: 'The manager did not start, or did not answer in time.',
    remedy: 'Read the reason in the message, or in `nclust.log`.',
  },
  ERR_NCLUST_DEPLOY_BAD_CONFIG: {
    exitStatus: 2,
    when: 'A setting of the deployment is missing or wrong.',
    remedy: 'Fix the keys that the message lists.',
  },
  ERR_NCLUST_DEPLOY_FAILED: {
    exitStatus: 1,
    when: 'A step of a deployment failed on a host.',
    remedy: 'Fix the step in the message, and deploy again. The message shows what each host runs now.',
  },
  ERR_NCLUST_DUMP_BAD: {
    exitStatus: 1,
    when: '`dump.json` and its copy cannot be read as a saved list.',
    remedy: 'Move the file away, start the apps, and run `nclust save`.',
  },
  ERR_NCLUST_DUMP_MISSING: {
    exitStatus: 1,
    when: 'You have not saved a list yet.',
    remedy: 'Start the apps, then run `nclust save`.',
  },
  ERR_NCLUST_ELSEWHERE: {
    exitStatus: 1,
    when: 'nclust does not have this command of PM2.',
    remedy: 'Use the replacement that the message names.',
  },
  ERR_NCLUST_EMPTY_LIST: {
    exitStatus: 1,
    when: '`save` would replace the saved list by an empty one.',
    remedy: 'To do that, give `--force`.',
  },
  ERR_NCLUST_ENV_FILE: {
    exitStatus: 1,
    when: 'A file of `env_file` is missing, unreadable or larger than 1 MB. Nothing was changed.',
    remedy: "Fix the path in the message. A relative path starts at the app's `cwd`.",
  },
  ERR_NCLUST_FILE_UNWRITABLE: {
    exitStatus: 1,
    when: 'The system did not let a command write one of your files.',
    remedy: 'Fix the permissions of the file in the message, or of its folder.',
  },
  ERR_NCLUST_FOLDER_NOT_FOUND: {
    exitStatus: 1,
    when: 'The folder to serve does not exist.',
    remedy: 'Give the folder with the files.',
  },
  ERR_NCLUST_HOME_EXPOSED: {
    exitStatus: 1,
    when: 'Another user could replace the home by another folder.',
    remedy: 'Run `chmod go-w` on the folder in the message, or set another `NCLUST_HOME`.',
  },
  ERR_NCLUST_HOME_FOREIGN: {
    exitStatus: 1,
    when: 'The home belongs to another user.',
    remedy: 'Run the command as that user, or set another `NCLUST_HOME`.',
  },
  ERR_NCLUST_HOME_NOT_DIRECTORY: {
    exitStatus: 1,
    when: 'The home is a file.',
    remedy: 'Move it away, or set another `NCLUST_HOME`.',
  },
  ERR_NCLUST_HOME_OPEN: {
    exitStatus: 1,
    when: 'Other users may enter the home, and it has files that nclust did not create.',
    remedy: 'Set another `NCLUST_HOME`, or run `chmod 700` on this one.',
  },
  ERR_NCLUST_HOME_TOO_LONG: {
    exitStatus: 1,
    when: 'The path of the home is too long for a socket: at most 107 bytes (macOS: 103).',
    remedy: 'Set a shorter `NCLUST_HOME`.',
  },
  ERR_NCLUST_HOME_UNWRITABLE: {
    exitStatus: 1,
    when: 'The home cannot be created or written to.',
    remedy: 'Fix its permissions, or set another `NCLUST_HOME`.',
  },
  ERR_NCLUST_IMPORT: {
    exitStatus: 1,
    when: 'The list of PM2 is unreadable, or some apps could not be taken over.',
    remedy: 'Fix what the message names. First try `nclust import pm2 --dry-run`.',
  },
  ERR_NCLUST_INTERNAL: {
    exitStatus: 1,
    when: 'This is a bug in nclust.',
    remedy: 'Report it with the message and the end of `nclust.log`.',
  },
  ERR_NCLUST_INTERPRETER_NOT_FOUND: {
    exitStatus: 1,
    when: 'The program that runs the script is not in PATH or not executable.',
    remedy: 'Install it, or give its path with `--interpreter`.',
  },
  ERR_NCLUST_INTERPRETER_UNSUPPORTED: {
    exitStatus: 1,
    when: 'The interpreter cannot run this kind of script, or has an unknown form.',
    remedy: 'Do what the message proposes.',
  },
  ERR_NCLUST_INTERRUPTED: {
    exitStatus: 130,
    when: 'Ctrl-C ended a command, or an `AbortSignal` ended a call. A change that it started goes on.',
    remedy: 'See the progress with `nclust list`.',
  },
  ERR_NCLUST_KEEPER_OUTDATED: {
    exitStatus: 1,
    when: 'A part of the running manager is older than this command needs.',
    remedy: 'Run `nclust update`. No app stops.',
  },
  ERR_NCLUST_NOT_PERMITTED: {
    exitStatus: 1,
    when: 'Only root may do this, for example start an app as another user.',
    remedy: 'Run the command as root, or leave the option out.',
  },
  ERR_NCLUST_NOT_REACHABLE: {
    exitStatus: 1,
    when:
      'A process is not a Node.js program, or has no standard input (cluster mode). Or it closed its side. ' +
      'Or the manager that started it died.',
    remedy: 'Use fork mode for standard input. In the last two cases, restart the app.',
  },
  ERR_NCLUST_NOT_READING: {
    exitStatus: 1,
    when: 'An app does not read its input or its messages, and its queue is full.',
    remedy: 'Check what the app does. A restart empties the queue.',
  },
  ERR_NCLUST_NOT_UP: {
    exitStatus: 1,
    when: 'An app exited, was not ready in time, or could not be started.',
    remedy: 'Read the error lines in the message, and `nclust describe`.',
  },
  ERR_NCLUST_NO_ACTION: {
    exitStatus: 1,
    when: 'No process has registered this action of `trigger`.',
    remedy: 'Choose one of the actions in the message.',
  },
  ERR_NCLUST_NO_FOLDER: {
    exitStatus: 1,
    when: 'The current folder of the command was removed.',
    remedy: 'Run the command in another folder.',
  },
  ERR_NCLUST_NO_PROCESS: {
    exitStatus: 1,
    when: 'The apps are in the list, but none of their processes runs.',
    remedy: 'Start them, or choose another target.',
  },
  ERR_NCLUST_NO_REPLY: {
    exitStatus: 1,
    when: 'A process did not answer in time. Its event loop may be blocked.',
    remedy: 'Run `nclust stack` on it, or read `nclust logs`.',
  },
  ERR_NCLUST_PLATFORM: {
    exitStatus: 1,
    when: 'nclust does not run on this operating system.',
    remedy: 'Use Linux or macOS; on Windows, WSL.',
  },
  ERR_NCLUST_PREFLIGHT: {
    exitStatus: 1,
    when:
      'The change was certain to fail. The script does not parse, or script, interpreter or folder is ' +
      'missing. Or `PORT` is not a port. Or `ulimit -n` or `pids.max` is too low. Nothing was changed.',
    remedy: 'Fix the cause in the message and repeat the command.',
  },
  ERR_NCLUST_PROFILE_BUSY: {
    exitStatus: 1,
    when: 'Another profile of this process is in progress.',
    remedy: 'Wait until it is done, or stop the command that takes it.',
  },
  ERR_NCLUST_PROTOCOL: {
    exitStatus: 1,
    when: 'A message between the command and the manager was not understood.',
    remedy: 'The versions may differ: run `nclust update`. No app stops.',
  },
  ERR_NCLUST_PROTOCOL_VERSION: {
    exitStatus: 1,
    when: 'The running manager speaks another version of the protocol than this command.',
    remedy: 'Use the nclust that started it. Or run its `nclust kill`, which stops all apps, then `nclust resurrect`.',
  },
  ERR_NCLUST_RELOAD_FAILED: {
    exitStatus: 1,
    when: 'A new instance crashed, hung or was not ready in time, and the reload stopped there.',
    remedy: 'Read in the message what serves now, and the error lines. Fix the code and reload again.',
  },
  ERR_NCLUST_ROLLED_BACK: {
    exitStatus: 1,
    when: 'Within the rollback window the new instances were worse. The old ones serve again.',
    remedy: 'Read the worse value in the message, and `nclust logs`. Fix the code and reload again.',
  },
  ERR_NCLUST_SCRIPT_NOT_FOUND: {
    exitStatus: 1,
    when: 'The word is not a file, a program in PATH, or an app in the list.',
    remedy: 'Check the path. Put quotes around a whole shell command.',
  },
  ERR_NCLUST_SECRET: {
    exitStatus: 1,
    when: 'A secret is not available: its file is unreadable, or its command failed or took over 10 s.',
    remedy: 'Run the command as the owner of the app to see its output. The message never shows it.',
  },
  ERR_NCLUST_SETTINGS_FILE: {
    exitStatus: 1,
    when: '`settings.json` in the home cannot be read or written. Nothing was changed.',
    remedy: 'Fix the fault in the message, or move the file away.',
  },
  ERR_NCLUST_SHUTTING_DOWN: {
    exitStatus: 1,
    when: 'The manager is shutting down and accepts no changes.',
    remedy: 'Run the command again in a moment.',
  },
  ERR_NCLUST_STARTUP: {
    exitStatus: 1,
    when: 'The service for the boot could not be installed or removed.',
    remedy: 'Fix the step, or use the replacement, in the message.',
  },
  ERR_NCLUST_STATE_WRITE: {
    exitStatus: 1,
    when: 'The list of apps could not be written to disk. Nothing was changed.',
    remedy:
      'Free disk space (`nclust flush` empties the logs) or fix the permissions of the home. Then repeat the command.',
  },
  ERR_NCLUST_TIMEOUT: {
    exitStatus: 3,
    when: 'A call of a program took longer than its `timeoutMs`. The manager may still carry it out.',
    remedy: 'See the progress with `list()`, or allow more time.',
  },
  ERR_NCLUST_UPDATE_BUSY: {
    exitStatus: 1,
    when: 'Another `nclust update` is in progress or came after this one.',
    remedy: 'Check the running version with `nclust ping`, and update again if necessary.',
  },
  ERR_NCLUST_UPDATE_FAILED: {
    exitStatus: 1,
    when: 'The new version did not start, or crashed or hung soon after. The old version goes on.',
    remedy: 'Install nclust again, and repeat `nclust update`. The message has the reason.',
  },
  ERR_NCLUST_USAGE: {
    exitStatus: 2,
    when: 'The command line is not valid.',
    remedy: 'Fix the word in the message. See `nclust help <command>`.',
  },
  ERR_NCLUST_WEB_FAILED: {
    exitStatus: 1,
    when: 'The dashboard cannot be served, for example because its address is taken.',
    remedy: 'Choose another address: `nclust web --listen 127.0.0.1:0` takes any free port.',
  },
  ERR_NCLUST_WEB_REFUSED: {
    exitStatus: 1,
    when: 'The dashboard does not offer this action, or may not act.',
    remedy: 'Use the command line, or allow actions with `nclust web --allow-actions`.',
  },
});
