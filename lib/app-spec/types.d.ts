// Made from the table by test/generate/write.js; a test compares.

/**
 * Facts about the git checkout of the app. Control asks git each time a request starts, restarts or
 * reloads the app. The properties have PM2's names.
 */
export interface Versioning {
  type: 'git';
  /** Without password and token. */
  url: string | null;
  revision: string | null;
  /** Message of the commit. */
  comment: string | null;
  /** Whether tracked files had been changed. Null: git was too slow. */
  unstaged: boolean | null;
  branch: string;
  remotes: string[];
  remote: string | null;
  branch_exists_on_remote: boolean;
  ahead: boolean;
  next_rev: null;
  prev_rev: null;
  update_time: string;
  repo_path: string;
}

/** An app as the manager stores it: every setting has a value. */
export interface AppSpec {
  /**
   * A file, a folder with index.js, a program in PATH, or a shell command (with a space). Absolute
   * path, or the shell command as the user wrote it.
   */
  script: string;
  /** Arguments for the app; a text is split as in a shell. */
  args: string[];
  /**
   * Instances share their ports (cluster) or are independent (fork). Cluster only for kind node.
   */
  mode: 'cluster' | 'fork';
  /** User name that lists show. */
  user: string;
  /** Name of the app. */
  name: string;
  /** Group of the app. */
  namespace: string;
  /**
   * Processes to run; Node.js programs then run in cluster mode. Integer from 1, "max", 0 (= max),
   * "-N" or "N%".
   */
  instances: number | string;
  /** Working directory. */
  cwd: string;
  /** Program that runs the script; "none": the script itself. */
  interpreter: string;
  /** Options for the interpreter; a text is split as in a shell. */
  interpreterArgs: string[];
  /** Restart it when it exits. */
  autorestart: boolean;
  /** Unstable exits that are allowed within 10 minutes. */
  maxRestarts: number;
  /** Wait before a restart. */
  restartDelayMs: number;
  /** First wait after an unstable exit; doubles up to 15s. */
  backoffMs: number | null;
  /** An earlier exit is unstable; a program that does not listen is online after this time. */
  minUptimeMs: number;
  /** Exit codes after which it is not restarted. */
  stopExitCodes: number[];
  /** Time from the request to stop until SIGKILL. */
  killTimeoutMs: number;
  /** Signal that asks it to stop. */
  stopSignal: string | null;
  /** Send the stop signal to its child processes too. */
  treekill: boolean;
  /** It is online only after it has called process.send("ready"). */
  waitReady: boolean;
  /** Time limit until it is ready, if it makes no progress. */
  listenTimeoutMs: number;
  /** Send the message "shutdown" in place of the stop signal. */
  shutdownWithMessage: boolean;
  /** Which instance gets a connection in cluster mode; sticky chooses by client address. */
  scheduling: 'least-connections' | 'sticky' | 'os';
  /** New instances that a reload starts at a time. */
  maxSurge: number;
  /** Old instances that a reload may stop before new ones are ready. */
  maxUnavailable: number;
  /** Replace an instance that cannot serve, and delays requests, after this time; 0 for never. */
  hangTimeoutMs: number | null;
  /** How long a reload keeps the old instances, in case the new ones do worse. */
  rollbackWindowMs: number;
  /** Count its requests, and measure its event loop and heap. */
  metrics: boolean;
  /** Run as this user, name or number; root only. */
  uid: number | null;
  /** Run as this group, name or number; root only. */
  gid: number | null;
  /** Show its git revision, branch and remote in `nclust jlist`. */
  vizion: boolean;
  /** Variables for the app. Overrides `shellEnv`. */
  env: Record<string, string>;
  /** Files with lines KEY=value; the last one wins. Relative to `cwd`. */
  envFiles: string[];
  /** Contents of `envFiles` when the generation started. Paths are absolute. */
  fileEnv: { file: string; env: Record<string, string> }[];
  /** Variables from a file or a command; nclust does not store the values. */
  secrets: Record<string, { file: string } | { command: string }>;
  /**
   * Variables of the shell that the app does not get. A text: the variable of this name. A list:
   * variables whose names contain one of the texts.
   */
  filterEnv: boolean | string | string[];
  /** Variable that is one higher for each further instance; "none" to disable. */
  incrementVar: string | null;
  /** Variable that holds the number of the instance. */
  instanceVar: string;
  /** Variables of the shell that has started the app. */
  shellEnv: Record<string, string>;
  /** The app uses `env_<name>` of the config file. */
  envName: string | null;
  /** All other sources override these variables. */
  interpreterEnv: Record<string, string>;
  /** HOME, USER and LOGNAME, if the app has a user. */
  ownerEnv: Record<string, string>;
  /** Variables of `env` that were given as a number or boolean. */
  envUnquoted: string[];
  /** File for its standard output. Empty: the default path. "/dev/null", "NULL": no file. */
  outFile: string;
  /** File for its standard error. */
  errorFile: string;
  /** Also write both streams to this file. Empty: no file. "default": <name>.log. */
  logFile: string;
  /** One pair of files for all instances. Null: true only in fork mode without `instances`. */
  mergeLogs: boolean | null;
  /** Do not keep its output. No files, and no lines for followers. */
  disableLogs: boolean;
  /** Raw, or json for one record a line. */
  logType: 'raw' | 'json';
  /** Write the date before each line, in this format of dayjs. */
  logDateFormat: string | null;
  /** Rotate a log file of this size. */
  logMaxSizeBytes: number | null;
  /** Also rotate a log file this often. */
  logInterval: 'hourly' | 'daily' | 'weekly' | 'never' | null;
  /** Rotated files to keep for each log file. */
  logMaxFiles: number | null;
  /** Delete rotated files that are older than this. */
  logMaxAgeMs: number | null;
  /** Size of all its log files together. */
  logMaxTotalBytes: number | null;
  /** How to compress rotated files. */
  logCompress: 'gzip' | 'zstd' | 'none' | null;
  /** If the disk is slow, the app waits (block), or nclust drops and counts lines (drop). */
  logOverflow: 'block' | 'drop';
  /**
   * Size that an instance may write per second; nclust drops and counts lines above it. Per second
   * and instance. 0: no limit.
   */
  logRateLimitBytes: number;
  /** Also send its lines to these targets. */
  logShip: string[];
  /** Receivers that nclust notifies when a trouble of the app begins and ends (docs/notify.md). */
  notify: { to: string; level: 'bad' | 'warn'; afterMs: number; repeatMs: number }[];
  /**
   * Reload it when files change: in its working directory, or in this path. Files, folders and
   * globs, relative to `cwd`.
   */
  watch: string[];
  /**
   * Do not watch these; dotfiles, node_modules and its log files are never watched. See
   * readWatchPattern().
   */
  ignoreWatch: string[];
  /** Watch only files with these extensions. Without the dot. Empty: all files. */
  watchExtensions: string[];
  /** Reload when no file has changed for this time. 0: 100 ms. */
  watchDelayMs: number;
  /** UsePolling, interval, followSymlinks, depth, awaitWriteFinish. */
  watchOptions: Record<string, unknown>;
  /** Whether `stop --watch` or `restart --watch` has paused watching. */
  watchOff: boolean;
  /** Reload it at these times, in local time. */
  cronRestart: string | null;
  /** Reload an instance that uses more memory than this, with its child processes. */
  maxMemoryBytes: number;
  /** Write its pid to this file, with -<id> before its extension. Relative to `cwd`. */
  pidFile: string;
  /** False: only add it to the list. */
  autostart: boolean;
  /** Node: the agent is preloaded. exec: any other program. */
  kind: 'node' | 'exec';
  instancesGiven: boolean;
  /** Absolute path of the program that is executed. */
  file: string;
  interpreterGiven: string | null;
  /** The actual arguments of `file`, for kind exec. */
  execArgs: string[];
  version: string;
  nodeVersion: string | null;
  versioning: Versioning | null;
}
