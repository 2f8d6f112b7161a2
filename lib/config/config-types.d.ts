// Made from the schema by test/generate/write.js; a test compares.

/** Variables of an app. Objects and lists become JSON. */
export type Variables = Record<string, unknown>;

/** One app of a config file. */
export interface AppConfig {
  /** A file, a folder with index.js, a program in PATH, or a shell command (with a space). */
  script?: string;
  /** The same as `script`. */
  exec?: string;
  /** The same as `script`. */
  cmd?: string;
  /** The same as `script`. */
  command?: string;
  /** Arguments for the app; a text is split as in a shell. Default: none. */
  args?: string | (string | number)[];
  /**
   * Instances share their ports (cluster) or are independent (fork). Default: cluster for Node.js
   * with "instances", else fork.
   */
  exec_mode?: 'fork' | 'fork_mode' | 'cluster' | 'cluster_mode';
  /** The same as `exec_mode`. */
  execMode?: 'fork' | 'fork_mode' | 'cluster' | 'cluster_mode';
  /** The variable PORT. Default: none. */
  port?: number | string;
  /** User name that lists show. Default: the user of the process. */
  username?: string;
  /** With --env production, call the app <name>-production. Default: false. */
  append_env_to_name?: boolean;
  /** The same as `append_env_to_name`. */
  appendEnvToName?: boolean;
  /** Name of the app. Default: the script without its extension. */
  name?: string | number;
  /** Group of the app. Default: "default". */
  namespace?: string;
  /** Processes to run; Node.js programs then run in cluster mode. Default: 1. */
  instances?: number | string;
  /** Working directory. Default: the folder of the file. */
  cwd?: string;
  /**
   * Program that runs the script; "none": the script itself. Default: by extension or first line.
   */
  interpreter?: string;
  /** The same as `interpreter`. */
  exec_interpreter?: string;
  /** The same as `interpreter`. */
  execInterpreter?: string;
  /** Options for the interpreter; a text is split as in a shell. Default: none. */
  node_args?: string | (string | number)[];
  /** The same as `node_args`. */
  nodeArgs?: string | (string | number)[];
  /** The same as `node_args`. */
  interpreter_args?: string | (string | number)[];
  /** The same as `node_args`. */
  interpreterArgs?: string | (string | number)[];
  /** Restart it when it exits. Default: true. */
  autorestart?: boolean;
  /** Unstable exits that are allowed within 10 minutes. Default: 16. */
  max_restarts?: number | string;
  /** The same as `max_restarts`. */
  maxRestarts?: number | string;
  /** Wait before a restart. Default: 0. A bare number is ms. */
  restart_delay?: number | string;
  /** The same as `restart_delay`. */
  restartDelay?: number | string;
  /**
   * First wait after an unstable exit; doubles up to 15s. Default: 100ms, or none with a restart
   * delay. A bare number is ms.
   */
  exp_backoff_restart_delay?: number | string;
  /** The same as `exp_backoff_restart_delay`. */
  expBackoffRestartDelay?: number | string;
  /**
   * An earlier exit is unstable; a program that does not listen is online after this time. Default:
   * 1000. A bare number is ms.
   */
  min_uptime?: number | string;
  /** The same as `min_uptime`. */
  minUptime?: number | string;
  /** Exit codes after which it is not restarted. Default: none. */
  stop_exit_codes?: number[] | number | string;
  /** The same as `stop_exit_codes`. */
  stopExitCodes?: number[] | number | string;
  /** Time from the request to stop until SIGKILL. Default: 10000. A bare number is ms. */
  kill_timeout?: number | string;
  /** The same as `kill_timeout`. */
  killTimeout?: number | string;
  /** Signal that asks it to stop. Default: SIGTERM if it handles it, otherwise SIGINT. */
  stop_signal?: string | number;
  /** The same as `stop_signal`. */
  stopSignal?: string | number;
  /** The same as `stop_signal`. */
  kill_signal?: string | number;
  /** The same as `stop_signal`. */
  killSignal?: string | number;
  /** Send the stop signal to its child processes too. Default: true. */
  treekill?: boolean;
  /** It is online only after it has called process.send("ready"). Default: false. */
  wait_ready?: boolean;
  /** The same as `wait_ready`. */
  waitReady?: boolean;
  /** Time limit until it is ready, if it makes no progress. Default: 10000. A bare number is ms. */
  listen_timeout?: number | string;
  /** The same as `listen_timeout`. */
  listenTimeout?: number | string;
  /** Send the message "shutdown" in place of the stop signal. Default: false. */
  shutdown_with_message?: boolean;
  /** The same as `shutdown_with_message`. */
  shutdownWithMessage?: boolean;
  /**
   * Which instance gets a connection in cluster mode; sticky chooses by client address. Default:
   * least-connections.
   */
  scheduling?: 'least-connections' | 'sticky' | 'os';
  /** New instances that a reload starts at a time. Default: 1. */
  max_surge?: number;
  /** The same as `max_surge`. */
  maxSurge?: number;
  /** Old instances that a reload may stop before new ones are ready. Default: 0. */
  max_unavailable?: number;
  /** The same as `max_unavailable`. */
  maxUnavailable?: number;
  /**
   * Replace an instance that cannot serve, and delays requests, after this time; 0 for never.
   * Default: 30s with several instances in cluster mode, otherwise never. A bare number is ms.
   */
  hang_timeout?: number | string;
  /** The same as `hang_timeout`. */
  hangTimeout?: number | string;
  /**
   * How long a reload keeps the old instances, in case the new ones do worse. Default: 0. A bare
   * number is ms.
   */
  rollback_window?: number | string;
  /** The same as `rollback_window`. */
  rollbackWindow?: number | string;
  /** Count its requests, and measure its event loop and heap. Default: true. */
  metrics?: boolean;
  /** Run as this user, name or number; root only. Default: the user of the manager. */
  uid?: string | number;
  /** The same as `uid`. */
  user?: string | number;
  /** Run as this group, name or number; root only. Default: the group of that user. */
  gid?: string | number;
  /**
   * Show source lines in stack traces (--enable-source-maps of Node.js). Default: true if
   * <script>.map exists.
   */
  source_map_support?: boolean;
  /** The same as `source_map_support`. */
  sourceMapSupport?: boolean;
  /** Overrides source_map_support. Default: false. */
  disable_source_map_support?: boolean;
  /** The same as `disable_source_map_support`. */
  disableSourceMapSupport?: boolean;
  /** Show its git revision, branch and remote in `nclust jlist`. Default: true. */
  vizion?: boolean;
  /** Use fork mode, even with instances. Default: false. */
  execute_command?: boolean;
  /** The same as `execute_command`. */
  executeCommand?: boolean;
  /** Variables for the app. Default: none. */
  env?: Record<string, unknown>;
  /** Files with lines KEY=value; the last one wins. Default: none. */
  env_file?: string | string[];
  /** The same as `env_file`. */
  envFile?: string | string[];
  /** The same as `env_file`. */
  env_files?: string | string[];
  /** The same as `env_file`. */
  envFiles?: string | string[];
  /** Variables from a file or a command; nclust does not store the values. Default: none. */
  secrets?: Record<string, string | { file: string } | { command: string }>;
  /** Variables of the shell that the app does not get. Default: false. */
  filter_env?: boolean | string | string[];
  /** The same as `filter_env`. */
  filterEnv?: boolean | string | string[];
  /** Variable that is one higher for each further instance; "none" to disable. Default: none. */
  increment_var?: string;
  /** The same as `increment_var`. */
  incrementVar?: string;
  /** Variable that holds the number of the instance. Default: NODE_APP_INSTANCE. */
  instance_var?: string;
  /** The same as `instance_var`. */
  instanceVar?: string;
  /** File for its standard output. Default: $NCLUST_HOME/logs/<name>-out.log. */
  out_file?: string;
  /** The same as `out_file`. */
  outFile?: string;
  /** The same as `out_file`. */
  out?: string;
  /** The same as `out_file`. */
  output?: string;
  /** The same as `out_file`. */
  out_log?: string;
  /** The same as `out_file`. */
  outLog?: string;
  /** File for its standard error. Default: $NCLUST_HOME/logs/<name>-error.log. */
  error_file?: string;
  /** The same as `error_file`. */
  errorFile?: string;
  /** The same as `error_file`. */
  error?: string;
  /** The same as `error_file`. */
  err?: string;
  /** The same as `error_file`. */
  err_file?: string;
  /** The same as `error_file`. */
  errFile?: string;
  /** The same as `error_file`. */
  err_log?: string;
  /** The same as `error_file`. */
  errLog?: string;
  /** The same as `error_file`. */
  error_log?: string;
  /** The same as `error_file`. */
  errorLog?: string;
  /** Also write both streams to this file. Default: none. */
  log_file?: string | boolean;
  /** The same as `log_file`. */
  logFile?: string | boolean;
  /** The same as `log_file`. */
  log?: string | boolean;
  /**
   * One pair of files for all instances. Default: true in fork mode without "instances", else
   * false.
   */
  merge_logs?: boolean;
  /** The same as `merge_logs`. */
  mergeLogs?: boolean;
  /** The same as `merge_logs`. */
  combine_logs?: boolean;
  /** The same as `merge_logs`. */
  combineLogs?: boolean;
  /** Do not keep its output. Default: false. */
  disable_logs?: boolean;
  /** The same as `disable_logs`. */
  disableLogs?: boolean;
  /** Raw, or json for one record a line. Default: raw. */
  log_type?: 'raw' | 'json';
  /** The same as `log_type`. */
  logType?: 'raw' | 'json';
  /** Write the date before each line, in this format of dayjs. Default: none. */
  log_date_format?: string;
  /** The same as `log_date_format`. */
  logDateFormat?: string;
  /** Write the date before each line: YYYY-MM-DDTHH:mm:ss. Default: false. */
  time?: boolean;
  /** Rotate a log file of this size. Default: the setting logs.max_size. A bare number is bytes. */
  log_max_size?: number | string | null;
  /** The same as `log_max_size`. */
  logMaxSize?: number | string | null;
  /** Also rotate a log file this often. Default: the setting logs.interval. */
  log_interval?: 'hourly' | 'daily' | 'weekly' | 'never' | 'default';
  /** The same as `log_interval`. */
  logInterval?: 'hourly' | 'daily' | 'weekly' | 'never' | 'default';
  /** Rotated files to keep for each log file. Default: the setting logs.max_files. */
  log_max_files?: number | string;
  /** The same as `log_max_files`. */
  logMaxFiles?: number | string;
  /**
   * Delete rotated files that are older than this. Default: the setting logs.max_age. A bare number
   * is ms.
   */
  log_max_age?: number | string | null;
  /** The same as `log_max_age`. */
  logMaxAge?: number | string | null;
  /**
   * Size of all its log files together. Default: the setting logs.max_app_total. A bare number is
   * bytes.
   */
  log_max_total?: number | string | null;
  /** The same as `log_max_total`. */
  logMaxTotal?: number | string | null;
  /** How to compress rotated files. Default: the setting logs.compress. */
  log_compress?: 'gzip' | 'zstd' | 'none' | 'default';
  /** The same as `log_compress`. */
  logCompress?: 'gzip' | 'zstd' | 'none' | 'default';
  /**
   * If the disk is slow, the app waits (block), or nclust drops and counts lines (drop). Default:
   * block.
   */
  log_overflow?: 'block' | 'drop';
  /** The same as `log_overflow`. */
  logOverflow?: 'block' | 'drop';
  /**
   * Size that an instance may write per second; nclust drops and counts lines above it. Default:
   * none. A bare number is bytes.
   */
  log_rate_limit?: number | string | null;
  /** The same as `log_rate_limit`. */
  logRateLimit?: number | string | null;
  /** Also send its lines to these targets. Default: none. */
  log_ship?: string | string[];
  /** The same as `log_ship`. */
  logShip?: string | string[];
  /**
   * Receivers that nclust notifies when a trouble of the app begins and ends (docs/notify.md).
   * Default: none.
   */
  notify?:
    | string
    | { to: string; level?: 'bad' | 'warn'; after?: number | string; repeat?: number | string }
    | (string | { to: string; level?: 'bad' | 'warn'; after?: number | string; repeat?: number | string })[];
  /** Reload it when files change: in its working directory, or in this path. Default: false. */
  watch?: boolean | string | string[];
  /**
   * Do not watch these; dotfiles, node_modules and its log files are never watched. Default: none.
   */
  ignore_watch?: string | string[];
  /** The same as `ignore_watch`. */
  ignoreWatch?: string | string[];
  /** Watch only files with these extensions. Default: all. */
  ext?: string | string[];
  /** The same as `ext`. */
  watch_extensions?: string | string[];
  /** The same as `ext`. */
  watchExtensions?: string | string[];
  /** Reload when no file has changed for this time. Default: 100ms. */
  watch_delay?: number | string;
  /** The same as `watch_delay`. */
  watchDelay?: number | string;
  /** UsePolling, interval, followSymlinks, depth, awaitWriteFinish. Default: none. */
  watch_options?: Record<string, unknown>;
  /** The same as `watch_options`. */
  watchOptions?: Record<string, unknown>;
  /** Reload it at these times, in local time. Default: none. */
  cron_restart?: string | number | boolean | null;
  /** The same as `cron_restart`. */
  cronRestart?: string | number | boolean | null;
  /** The same as `cron_restart`. */
  cron?: string | number | boolean | null;
  /**
   * Reload an instance that uses more memory than this, with its child processes. Default: none. A
   * bare number is bytes.
   */
  max_memory_restart?: number | string;
  /** The same as `max_memory_restart`. */
  maxMemoryRestart?: number | string;
  /**
   * Write its pid to this file, with -<id> before its extension. Default:
   * $NCLUST_HOME/pids/<name>-<id>.pid.
   */
  pid_file?: string;
  /** The same as `pid_file`. */
  pidFile?: string;
  /** The same as `pid_file`. */
  pid?: string;
  /** False: only add it to the list. Default: true. */
  autostart?: boolean;
  /** Accepted and not needed: `start` restarts an app of the file that runs already. */
  force?: unknown;
  /** Accepted and not needed: nclust does not poll. */
  kill_retry_time?: unknown;
  /** The same as `kill_retry_time`. */
  killRetryTime?: unknown;
  /** Accepted and not needed: nclust does not pull; use the hooks of `deploy`. */
  post_update?: unknown;
  /** The same as `post_update`. */
  postUpdate?: unknown;
  /** Accepted and not needed: nclust does not run on Windows. */
  windowsHide?: unknown;
  /** The same as `windowsHide`. */
  windows_hide?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  automation?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  pmx?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  trace?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  disable_trace?: unknown;
  /** The same as `disable_trace`. */
  disableTrace?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  deep_monitoring?: unknown;
  /** The same as `deep_monitoring`. */
  deepMonitoring?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  event_loop_inspector?: unknown;
  /** The same as `event_loop_inspector`. */
  eventLoopInspector?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  v8?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  km_link?: unknown;
  /** The same as `km_link`. */
  kmLink?: unknown;
  /** Accepted and not needed: for a monitoring service that nclust does not use. */
  axm_options?: unknown;
  /** The same as `axm_options`. */
  axmOptions?: unknown;
  /** Accepted and not needed: nclust has no modules. */
  install_url?: unknown;
  /** The same as `install_url`. */
  installUrl?: unknown;
  /** Accepted and not needed: internal to PM2. */
  name_prefix?: unknown;
  /** The same as `name_prefix`. */
  namePrefix?: unknown;
  /** Accepted and not needed: internal to PM2. */
  write?: unknown;
  /** Variables that `--env <name>` adds to `env`. */
  [environment: `env_${string}`]: Variables | string | string[] | undefined;
}

/** A folder to serve. */
export interface StaticConfig {
  name?: string;
  port?: number | string;
  host?: string;
  path?: string;
  spa?: boolean;
  ftp?: boolean;
  directory?: string | boolean;
  homepage?: string;
  basic_auth?: { username: string; password: string };
  [attribute: string]: unknown;
}

/** A config file: apps, folders to serve, and deployments. */
export interface Config {
  apps?: AppConfig | AppConfig[];
  static?: StaticConfig | StaticConfig[];
  /** By the name of the environment. */
  deploy?: Record<string, Record<string, unknown>>;
  /** For apps without an attribute `notify`. */
  notify?: AppConfig['notify'];
}

/** A value that a config file may export. */
export type ConfigExport = AppConfig | AppConfig[] | Config;

/** A function that a config file may export. It gets the environment of `--env`. */
export type ConfigFunction = (o: { env: string | null }) => ConfigExport | Promise<ConfigExport>;
