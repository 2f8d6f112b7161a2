/// <reference lib="esnext.disposable" />
import type { AppConfig, ConfigExport, ConfigFunction } from './config/config-types.js';

export type {
  AppConfig,
  Config,
  ConfigExport,
  ConfigFunction,
  StaticConfig,
  Variables,
} from './config/config-types.js';

/** Returns its argument. Use it in a config file, so that an editor knows the attributes. */
export function defineConfig<T extends ConfigExport | ConfigFunction>(config: T): T;

/** Every error of nclust. docs/errors.md lists the codes. */
export class NclustError extends Error {
  readonly name: 'NclustError';
  readonly code: string;
  /** What to do next. */
  readonly hint: string | null;
  /** Details for programs. */
  readonly data: unknown;
  readonly exitStatus: number;
}

/** With the words of PM2. */
export type Status = 'launching' | 'online' | 'stopping' | 'stopped' | 'errored' | 'waiting restart';

/** How a process exited. */
export interface Death {
  atMs: number;
  pid: number;
  code: number | null;
  signal: string | null;
  cause: string;
  by: string | null;
  uptimeMs: number;
  wasReady: boolean;
  /** The line of its stderr with the reason. */
  words?: string;
  /** Where the error arose in the app: `render (report.js:31)`. */
  frame?: string;
  /** The last lines of its stderr. */
  lastLines: string[];
}

/** One instance of an app, even if no process runs. docs/protocol.md explains the fields. */
export interface SlotStatus {
  id: number;
  name: string;
  namespace: string;
  slot: number;
  instanceId: string | null;
  /** 0: no process runs. */
  pid: number;
  status: Status;
  generation: number;
  /** Planned and unplanned. */
  restarts: number;
  /** Unplanned exits since the slot was started from rest, or reset. */
  crashes: number;
  unstableRestarts: number;
  /** When its process started. */
  startedAtMs: number | null;
  /** When it was ready. Null: it has not been ready. */
  onlineSinceMs: number | null;
  createdAtMs: number;
  /** Percent of one core. */
  cpu: number;
  memoryBytes: number;
  mode: 'cluster' | 'fork';
  version: string;
  user: string;
  script: string;
  args: string[];
  interpreter: string;
  interpreterArgs: string[];
  cwd: string;
  outFile: string;
  errorFile: string;
  logFile?: string;
  pidFile: string;
  nodeVersion: string | null;
  watching: boolean;
  addresses: { address: string; port: number; family: string }[];
  waitingFor: string | null;
  /** When the wait ends at the latest, wall clock. Null: no time limit. */
  waitingUntilMs: number | null;
  isReady: boolean;
  autorestart: boolean;
  lastDeath: Death | null;
  /** Kinds of the troubles that concern it. */
  troubles?: string[];
  /** From describe(), newest last. */
  deaths?: Death[];
  /** From describe(): the settings that the app starts with. */
  spec?: object;
  /** From describe(). */
  effectiveEnv?: Record<string, string>;
  /** From describe(): actions and metrics that the app registered. */
  axm?: {
    actions: { action_name: string; action_type: string; arity: number; opts?: unknown }[];
    monitor: Record<string, unknown>;
    options: Record<string, unknown>;
  };
}

export interface Hello {
  version: string;
  protocol: number;
  controlPid: number;
  keeperPid: number;
  keeperVersion: string;
  home: string;
  nodeVersion: string;
  startedAtMs: number;
}

/** The progress of a change. */
export interface Progress {
  token: string;
  done: number;
  total: number;
  waiting: {
    id: number;
    name: string;
    slot: number;
    phase: 'starting' | 'loading' | 'soaking' | 'draining' | 'parked' | 'backing off';
    forMs: number;
    /** When the time limit ends, wall clock. */
    untilMs: number | null;
    leftMs: number | null;
    detail: string | null;
  }[];
}

/** A name, an id, a namespace, the path of a script, "all", "/pattern/", or several of them. */
export type Targets = string | number | readonly (string | number)[];

export interface CallOptions {
  /**
   * After this time the call rejects with ERR_NCLUST_TIMEOUT. Infinity: never. Default: 15 s for
   * questions, 10 min for changes.
   */
  timeoutMs?: number;
  /** Ends the wait, not the change. The call rejects with ERR_NCLUST_INTERRUPTED. */
  signal?: AbortSignal;
}

export interface ChangeOptions extends CallOptions {
  /** False: do not wait until the change is complete. */
  wait?: boolean;
  onProgress?: (progress: Progress) => void;
}

export interface Choice {
  /** The environment whose `env_<name>` is added to `env`. */
  env?: string;
  /** Names of apps. Default: all. */
  only?: string | string[];
}

/** Attributes of a config file for one script. */
export type Words = Omit<Partial<AppConfig>, 'script' | 'exec' | 'cmd' | 'command' | 'force'> & { force?: boolean };

export type PlanAction = 'start' | 'none' | 'live' | 'scale' | 'rollout' | 'replace' | 'delete';

export interface Plan {
  plan: {
    name: string;
    action: PlanAction;
    changes: { field: string; attribute: string; before?: unknown; after?: unknown }[];
  }[];
  /** Apps that came from this config, are not in it any more, and stay in the list. */
  left: string[];
  slots: SlotStatus[];
}

export interface Place {
  id: number;
  name: string;
  slot: number;
  pid: number;
}

export interface TriggerReply {
  id: number;
  name: string;
  slot: number;
  outcome: 'replied' | 'silent' | 'exited' | 'no-action' | 'no-node' | 'no-process' | 'unreachable';
  reply?: unknown;
  actions?: string[];
  reason?: string;
}

export interface Setting {
  key: string;
  value: string;
  isSet: boolean;
  help: string;
}

export interface LogEntry {
  id: number;
  name: string;
  stream: 'out' | 'err';
  line: string;
  atMs: number | null;
  /** The line is longer than 16 MiB and continues in the next entry. */
  part?: true;
}

/** A change of a process. */
export interface ProcessEvent {
  type: 'process:event';
  event: 'start' | 'online' | 'exit' | 'stop' | 'restart' | 'reload' | 'delete' | 'restart overlimit';
  /** A command caused it. */
  manually: boolean;
  process: {
    id: number;
    name: string;
    slot: number;
    generation: number;
    namespace: string;
    instanceId: string | null;
    pid: number;
    status: Status;
    startedAtMs: number | null;
    restarts: number;
    mode: 'cluster' | 'fork' | null;
    version: string;
    createdAtMs: number | null;
    exitCode: number | null;
    signal: string | null;
  };
  at: number;
  isFromApp?: undefined;
}

/** Something that is wrong with an app, until it ends. docs/troubles.md explains the kinds. */
export interface Trouble {
  /** Stays the same until the trouble ends. */
  id: string;
  kind: string;
  /** bad: users of the app notice it now. */
  level: 'bad' | 'warn';
  app: string;
  /** Empty: the app as a whole. */
  slots: number[];
  /** When its cause began, in milliseconds since 1970. */
  sinceMs: number;
  /** How often its cause has happened. */
  times: number;
  /** By kind. */
  evidence: any;
}

/** A trouble has begun or ended. */
export interface TroubleEvent extends Trouble {
  type: 'trouble';
  hasBegun: boolean;
  at: number;
  isFromApp?: undefined;
}

/** A message that an app sent with process.send(). */
export interface AppEvent {
  type: string;
  data?: any;
  /** With `process:msg`: the message, because it had no type and data. */
  raw?: any;
  /** With `process:missed`: the number of dropped messages. */
  count?: number;
  process: { id: number; name: string; slot: number; instanceId: string };
  at: number;
  isFromApp: true;
}

/** Continues until you end it with `break`, return() or the signal. */
export interface Subscription<T> extends AsyncIterableIterator<T> {
  /** Resolves when the subscription is active: it misses nothing after that. */
  readonly ready: Promise<void>;
  return(): Promise<IteratorResult<T, undefined>>;
}

export interface LogOptions {
  /** Default: all. */
  targets?: Targets;
  /** Continue with new lines. Default: false. */
  follow?: boolean;
  /** Maximum number of old lines of each file. Default: 15; with `since`: all. */
  lines?: number;
  streams?: ('out' | 'err')[];
  /** Milliseconds since 1970, or how long ago: "2h". */
  since?: number | string | Date;
  until?: number | string | Date;
  grep?: string | RegExp;
  level?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  signal?: AbortSignal;
  /** Called with a number of lines that were left out, because this program reads too slowly. */
  onMissed?: (lines: number) => void;
  /** Called if lines are missing, because their file does not exist any more. */
  onGap?: () => void;
}

export interface RestartChoice extends Choice {
  /** The targets get the variables of this program. */
  updateEnv?: boolean;
  /** Attributes that become settings of the targets. `env` is added to their variables. */
  settings?: Partial<AppConfig>;
}

/**
 * The manager of one home. Every call settles within its time limit, even if the manager dies; see
 * docs/library.md.
 */
export interface Nclust {
  readonly home: string;
  hello(o?: CallOptions): Promise<Hello>;
  /** The time until the answer, in ms. */
  ping(o?: CallOptions): Promise<number>;
  list(targets?: Targets, o?: CallOptions): Promise<SlotStatus[]>;
  /** Like list(), with details. */
  describe(targets: Targets, o?: CallOptions): Promise<SlotStatus[]>;
  /** Lists the troubles of apps, the worst first. */
  troubles(targets?: Targets, o?: CallOptions): Promise<Trouble[]>;
  /** The variables that nclust gave to an instance. */
  env(target: string | number, o?: CallOptions): Promise<Record<string, string>>;
  /**
   * Starts a script or command, with attributes of a config file; or apps in the list, by name, id
   * or namespace.
   */
  start(script: string, o?: ChangeOptions & Words): Promise<SlotStatus[]>;
  /**
   * Starts the apps of a config, which is an object or the path of a file. Apps that are in the
   * list restart with the settings of the config.
   */
  start(config: ConfigExport | string, o?: ChangeOptions & Choice): Promise<SlotStatus[]>;
  start(targets: Targets, o?: ChangeOptions): Promise<SlotStatus[]>;
  stop(what: Targets | ConfigExport, o?: ChangeOptions & Choice): Promise<SlotStatus[]>;
  delete(what: Targets | ConfigExport, o?: ChangeOptions & Choice): Promise<SlotStatus[]>;
  restart(what: Targets | ConfigExport, o?: ChangeOptions & RestartChoice): Promise<SlotStatus[]>;
  /** Replaces the processes without losing a request. */
  reload(what: Targets | ConfigExport, o?: ChangeOptions & RestartChoice): Promise<SlotStatus[]>;
  /** Ends a reload whose rollback window is open: the old processes serve again. */
  rollback(targets: Targets, o?: ChangeOptions): Promise<SlotStatus[]>;
  /** Makes the running state equal to a config. With `dryRun`, only returns the plan. */
  apply(
    config: ConfigExport | string,
    o?: ChangeOptions & Choice & { prune?: boolean; updateEnv?: boolean; dryRun?: boolean },
  ): Promise<Plan>;
  /** `instances`: 4, "+2", "-1", "max" or "50%". */
  scale(target: string | number, instances: string | number, o?: ChangeOptions): Promise<SlotStatus[]>;
  /** Sets the restart counters to zero. */
  reset(targets: Targets, o?: CallOptions): Promise<SlotStatus[]>;
  signal(targets: Targets, signal: string | number, o?: CallOptions): Promise<SlotStatus[]>;
  /** Writes a line to the standard input of one process. */
  send(target: string | number, line: string, o?: CallOptions): Promise<Place[]>;
  /** Sends a message to process.on('message') of Node.js programs. */
  sendMessage(targets: Targets, message: unknown, o?: CallOptions): Promise<Place[]>;
  /** Calls an action that apps have registered. */
  trigger(
    targets: Targets,
    action: string,
    params?: unknown,
    o?: CallOptions & { /** Time limit for the reply of a process, in ms. Default: 5 s. */ replyMs?: number },
  ): Promise<TriggerReply[]>;
  inspect(
    target: string | number,
    o?: CallOptions & { stop?: boolean },
  ): Promise<{ slot: Place; url: string | null; was: string | null }>;
  save(o?: CallOptions & { force?: boolean }): Promise<{ file: string; apps: number }>;
  resurrect(o?: ChangeOptions): Promise<SlotStatus[]>;
  /** Empties log files. Default: all of them. */
  flush(targets?: Targets, o?: CallOptions): Promise<{ path: string; bytes: number }[]>;
  reloadLogs(o?: CallOptions): Promise<void>;
  /** Without a key: all settings of the home. */
  get(key?: string, o?: CallOptions): Promise<Setting[]>;
  set(key: string, value: string | number, o?: CallOptions): Promise<Setting[]>;
  unset(key: string, o?: CallOptions): Promise<Setting[]>;
  /** Replaces the manager with the version of this library. */
  update(o?: ChangeOptions): Promise<{ slots: SlotStatus[]; manager: Hello }>;
  /** Stops every app, then the manager. */
  kill(o?: CallOptions): Promise<{ wasRunning: boolean }>;
  /** New events of processes and troubles, and new messages of apps. Ends when the manager ends. */
  events(o: {
    types: 'process:event'[];
    signal?: AbortSignal;
    onMissed?: (count: number | null) => void;
  }): Subscription<ProcessEvent>;
  events(o: {
    types: 'trouble'[];
    signal?: AbortSignal;
    onMissed?: (count: number | null) => void;
  }): Subscription<TroubleEvent>;
  events(o?: {
    /** Default: all but "trouble". "app:*" means all types that begin with "app:". */ types?: string[];
    signal?: AbortSignal;
    /** Number of lost events. Null: unknown, because control was replaced. */ onMissed?: (
      count: number | null,
    ) => void;
  }): Subscription<ProcessEvent | AppEvent>;
  logs(o?: LogOptions): Subscription<LogEntry>;
  /** Any method of docs/protocol.md. */
  request(method: string, params?: Record<string, unknown>, o?: ChangeOptions): Promise<any>;
  /** Idempotent. Unfinished calls reject with ERR_NCLUST_CLOSED. Iterators end. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ConnectOptions {
  /** Default: NCLUST_HOME, else ~/.nclust. */
  home?: string;
  /** Base of relative paths. Default: the working directory at each call. */
  cwd?: string;
  /** Start a manager if none runs. Default: true. */
  launch?: boolean;
  /** For calls without their own `timeoutMs`. */
  timeoutMs?: number;
  /** Aborts connect(). */
  signal?: AbortSignal;
  /** Called for an unknown attribute of a config. Default: process.emitWarning(). */
  onWarning?: (sentence: string) => void;
}

/**
 * Connects to the manager of a home, and starts it if none runs. The connection alone does not keep
 * the program alive.
 */
export function connect(o?: ConnectOptions): Promise<Nclust>;
