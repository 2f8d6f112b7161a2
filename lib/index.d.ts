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

/**
 * Says what a config file exports, so that an editor knows its attributes. It returns what it is
 * given.
 */
export function defineConfig<T extends ConfigExport | ConfigFunction>(config: T): T;

/** Everything nclust refuses or fails to do. docs/errors.md lists the codes. */
export class NclustError extends Error {
  readonly name: 'NclustError';
  readonly code: string;
  /** What to do next. */
  readonly hint: string | null;
  /** For programs. */
  readonly data: unknown;
  readonly exitStatus: number;
}

/** The status as PM2 words it. */
export type Status = 'launching' | 'online' | 'stopping' | 'stopped' | 'errored' | 'waiting restart';

/** How an instance ended. */
export interface Death {
  atMs: number;
  pid: number;
  code: number | null;
  signal: string | null;
  cause: string;
  by: string | null;
  uptimeMs: number;
  wasReady: boolean;
  /** The end of its stderr. */
  lastLines: string[];
}

/** One instance of an app, or the place of one. docs/protocol.md tells what the fields mean. */
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
  restarts: number;
  unstableRestarts: number;
  startedAtMs: number | null;
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
  isReady: boolean;
  autorestart: boolean;
  lastDeath: Death | null;
  /** From describe(), newest last. */
  deaths?: Death[];
  /** From describe(): what the app is started with. */
  spec?: object;
  /** From describe(). */
  effectiveEnv?: Record<string, string>;
  /** From describe(): what the app tells of itself. */
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

/** How far a change is. */
export interface Progress {
  token: string;
  done: number;
  total: number;
  waiting: {
    id: number;
    name: string;
    slot: number;
    phase: 'starting' | 'soaking' | 'draining' | 'parked' | 'backing off';
    forMs: number;
    leftMs: number | null;
    detail: string | null;
  }[];
}

/** A name, an id, a namespace, the path of a script, "all", "/pattern/", or several of them. */
export type Targets = string | number | readonly (string | number)[];

/** What every call takes. */
export interface CallOptions {
  /**
   * When the call rejects with ERR_NCLUST_TIMEOUT at the latest; Infinity for never. Default: 15 s
   * for questions, 10 min for changes.
   */
  timeoutMs?: number;
  /** Ends the waiting, and not the change: ERR_NCLUST_INTERRUPTED. */
  signal?: AbortSignal;
}

/** What calls take that change something. */
export interface ChangeOptions extends CallOptions {
  /** False: do not wait until it has come about. */
  wait?: boolean;
  onProgress?: (progress: Progress) => void;
}

/** Which part of a config is meant. */
export interface Choice {
  /** Whose `env_<name>` counts. */
  env?: string;
  /** Names of apps. Default: all. */
  only?: string | string[];
}

/** The words of a config file about one script. */
export type Words = Omit<Partial<AppConfig>, 'script' | 'exec' | 'cmd' | 'command' | 'force'> & { force?: boolean };

export type PlanAction = 'start' | 'none' | 'live' | 'scale' | 'rollout' | 'replace' | 'delete';

export interface Plan {
  plan: {
    name: string;
    action: PlanAction;
    changes: { field: string; attribute: string; before?: unknown; after?: unknown }[];
  }[];
  /** Apps that came from the config, are not in it any more, and stay. */
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
}

/** Something has happened to a process. */
export interface ProcessEvent {
  type: 'process:event';
  event: 'start' | 'online' | 'exit' | 'stop' | 'restart' | 'reload' | 'delete' | 'restart overlimit';
  /** A command asked for it. */
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

/** An app has said something with process.send(). */
export interface AppEvent {
  type: string;
  data?: any;
  /** Of `process:msg`: what was sent had no type and data. */
  raw?: any;
  /** Of `process:missed`. */
  count?: number;
  process: { id: number; name: string; slot: number; instanceId: string };
  at: number;
  isFromApp: true;
}

/**
 * What goes on until somebody has had enough: `break` ends it, and so do return() and the signal.
 */
export interface Subscription<T> extends AsyncIterableIterator<T> {
  /** From here on nothing is missed. */
  readonly ready: Promise<void>;
  return(): Promise<IteratorResult<T, undefined>>;
}

export interface LogOptions {
  /** Default: all. */
  targets?: Targets;
  /** Go on with new lines. Default: false. */
  follow?: boolean;
  /** How many at most of what is kept, of each file. Default: 15; with `since`: all. */
  lines?: number;
  streams?: ('out' | 'err')[];
  /** Milliseconds since 1970, or how long ago: "2h". */
  since?: number | string | Date;
  until?: number | string | Date;
  grep?: string | RegExp;
  level?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  signal?: AbortSignal;
  /** So many lines were left out, because this program reads too slowly. */
  onMissed?: (lines: number) => void;
  /** What was written meanwhile is in no file any more. */
  onGap?: () => void;
}

/**
 * The manager of one home. Every call settles in its time, whatever becomes of the manager;
 * docs/library.md tells how.
 */
export interface Nclust {
  readonly home: string;
  hello(o?: CallOptions): Promise<Hello>;
  /** How long the answer took, in ms. */
  ping(o?: CallOptions): Promise<number>;
  list(targets?: Targets, o?: CallOptions): Promise<SlotStatus[]>;
  /** The same with details. */
  describe(targets: Targets, o?: CallOptions): Promise<SlotStatus[]>;
  /** The variables an instance was given. */
  env(target: string | number, o?: CallOptions): Promise<Record<string, string>>;
  /**
   * A script or command with the words of a config file; or what is in the list, by its name, id or
   * namespace.
   */
  start(script: string, o?: ChangeOptions & Words): Promise<SlotStatus[]>;
  /**
   * The apps of a config, as an object or by the path of its file: those in the list begin anew
   * with what it says, the others start.
   */
  start(config: ConfigExport | string, o?: ChangeOptions & Choice): Promise<SlotStatus[]>;
  start(targets: Targets, o?: ChangeOptions): Promise<SlotStatus[]>;
  stop(what: Targets | ConfigExport, o?: ChangeOptions & Choice): Promise<SlotStatus[]>;
  delete(what: Targets | ConfigExport, o?: ChangeOptions & Choice): Promise<SlotStatus[]>;
  restart(what: Targets | ConfigExport, o?: ChangeOptions & Choice & { updateEnv?: boolean }): Promise<SlotStatus[]>;
  /** Replaces them without losing a request. */
  reload(what: Targets | ConfigExport, o?: ChangeOptions & Choice & { updateEnv?: boolean }): Promise<SlotStatus[]>;
  /** Makes the running state equal to a config; with `dryRun` tells what that would take. */
  apply(
    config: ConfigExport | string,
    o?: ChangeOptions & Choice & { prune?: boolean; updateEnv?: boolean; dryRun?: boolean },
  ): Promise<Plan>;
  /** 4, "+2", "-1", "max", "50%". */
  scale(target: string | number, instances: string | number, o?: ChangeOptions): Promise<SlotStatus[]>;
  /** Restart counters are zero. */
  reset(targets: Targets, o?: CallOptions): Promise<SlotStatus[]>;
  signal(targets: Targets, signal: string | number, o?: CallOptions): Promise<SlotStatus[]>;
  /** A line for the standard input of one process. */
  send(target: string | number, line: string, o?: CallOptions): Promise<Place[]>;
  /** For process.on('message') of Node programs. */
  sendMessage(targets: Targets, message: unknown, o?: CallOptions): Promise<Place[]>;
  /** Calls an action that apps have registered. */
  trigger(
    targets: Targets,
    action: string,
    params?: unknown,
    o?: CallOptions & { /** How long one may take to reply. Default: 5 s. */ replyMs?: number },
  ): Promise<TriggerReply[]>;
  inspect(
    target: string | number,
    o?: CallOptions & { stop?: boolean },
  ): Promise<{ slot: Place; url: string | null; was: string | null }>;
  save(o?: CallOptions & { force?: boolean }): Promise<{ file: string; apps: number }>;
  resurrect(o?: ChangeOptions): Promise<SlotStatus[]>;
  /** Empties log files; without targets all of them. */
  flush(targets?: Targets, o?: CallOptions): Promise<{ path: string; bytes: number }[]>;
  reloadLogs(o?: CallOptions): Promise<void>;
  /** The settings of the home, or one of them. */
  get(key?: string, o?: CallOptions): Promise<Setting[]>;
  set(key: string, value: string | number, o?: CallOptions): Promise<Setting[]>;
  unset(key: string, o?: CallOptions): Promise<Setting[]>;
  /** Replaces the manager by the version this library belongs to. */
  update(o?: ChangeOptions): Promise<{ slots: SlotStatus[]; manager: Hello }>;
  /** Ends every app, then the manager. */
  kill(o?: CallOptions): Promise<{ wasRunning: boolean }>;
  /** What happens to processes and what apps say, from now on. It ends with the manager. */
  events(o: {
    types: 'process:event'[];
    signal?: AbortSignal;
    onMissed?: (count: number | null) => void;
  }): Subscription<ProcessEvent>;
  events(o?: {
    /** With "*" at the end: all that begin so. */ types?: string[];
    signal?: AbortSignal;
    /** So many were left out; null: nobody knows how many, control was replaced. */ onMissed?: (
      count: number | null,
    ) => void;
  }): Subscription<ProcessEvent | AppEvent>;
  logs(o?: LogOptions): Subscription<LogEntry>;
  /** Any method of docs/protocol.md. */
  request(method: string, params?: Record<string, unknown>, o?: ChangeOptions): Promise<any>;
  /** Idempotent. What is under way rejects with ERR_NCLUST_CLOSED; iterators end. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ConnectOptions {
  /** Default: NCLUST_HOME, else ~/.nclust. */
  home?: string;
  /** From where relative paths count. Default: the working directory, at each call. */
  cwd?: string;
  /** Whether a manager is started where none runs. Default: true. */
  launch?: boolean;
  /** Of every call that has none of its own. */
  timeoutMs?: number;
  /** Ends the connecting. */
  signal?: AbortSignal;
  /** Of a config: an attribute that means nothing. Default: process.emitWarning(). */
  onWarning?: (sentence: string) => void;
}

/**
 * Connects to the manager of a home, and starts it when none runs. The connection alone does not
 * keep the program alive.
 */
export function connect(o?: ConnectOptions): Promise<Nclust>;
