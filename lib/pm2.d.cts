import { EventEmitter } from 'node:events';
import type { AppConfig, ConfigExport } from './config/config-types.js';

declare namespace pm2 {
  type ProcessStatus = 'online' | 'stopping' | 'stopped' | 'launching' | 'errored' | 'waiting restart';

  /** `code`: see docs/errors.md. A message that programs compare with is that of PM2. */
  interface Failure extends Error {
    code: string;
    hint: string | null;
  }

  interface Monit {
    memory?: number;
    cpu?: number;
  }

  /** The attributes of the app, and its variables beside them. */
  interface Pm2Env {
    name?: string;
    namespace?: string;
    pm_id?: number;
    status?: ProcessStatus;
    pm_cwd?: string;
    cwd?: string;
    pm_exec_path?: string;
    pm_out_log_path?: string;
    pm_err_log_path?: string;
    pm_pid_path?: string;
    exec_interpreter?: string;
    exec_mode?: string;
    instances?: number | string;
    pm_uptime?: number;
    created_at?: number;
    restart_time?: number;
    unstable_restarts?: number;
    version?: string;
    node_version?: string;
    env?: Record<string, string | number | boolean>;
    axm_actions?: { action_name: string; action_type: string; arity: number }[];
    axm_monitor?: Record<string, any>;
    [attribute: string]: any;
  }

  interface ProcessDescription {
    name?: string;
    pid?: number;
    pm_id?: number;
    namespace?: string;
    status?: ProcessStatus;
    restart_time?: number;
    monit?: Monit;
    pm2_env?: Pm2Env;
    process?: { pid: number };
  }

  type Proc = ProcessDescription;
  type StartOptions = Partial<AppConfig> & {
    env?: any;
    scriptArgs?: string | string[];
    force?: boolean;
    only?: string;
  };

  /** Attributes become settings of the app. */
  type ReloadOptions = Omit<Partial<AppConfig>, 'env'> & {
    env?: any;
    only?: string;
    updateEnv?: boolean;
  };

  interface Packet {
    id?: number | string;
    type?: string;
    topic?: any;
    data: any;
  }

  type Done = (error: Failure) => void;
  type Result<T> = (error: Failure, result: T) => void;

  /**
   * PM2's bus. A listener for a pattern gets the text that matches each star, then the event:
   * `bus.on('log:*', (stream, packet) => {})`.
   */
  interface Bus {
    on(event: string, listener: (...args: any[]) => void): this;
    once(event: string, listener: (...args: any[]) => void): this;
    off(event: string, listener?: (...args: any[]) => void): this;
    onAny(listener: (event: string, packet: any) => void): this;
    offAny(listener?: (event: string, packet: any) => void): this;
    addListener(event: string, listener: (...args: any[]) => void): this;
    removeListener(event: string, listener: (...args: any[]) => void): this;
    removeAllListeners(event?: string): this;
    emit(event: string, packet: any): boolean;
    listeners(event: string): ((...args: any[]) => void)[];
    close(): void;
    /** Emits "close" when the bus has ended. */
    readonly sock: Pick<EventEmitter, 'on' | 'once' | 'off' | 'emit'>;
  }

  interface Options {
    /** Default: NCLUST_HOME, else ~/.nclust. */
    pm2_home?: string;
    /** Base of relative paths. Default: the working directory. */
    cwd?: string;
    /** Use a new home, which destroy() removes. */
    independent?: boolean;
    [other: string]: unknown;
  }
}

/** PM2's programmatic API. A call without a callback returns a promise. */
declare class Pm2 {
  constructor(o?: pm2.Options);
  readonly custom: typeof Pm2;

  connect(callback: pm2.Done): void;
  connect(noDaemon: boolean, callback: pm2.Done): void;
  connect(noDaemon?: boolean): Promise<{ new_pm2_instance: boolean; pm2_home: string }>;
  disconnect(callback?: pm2.Done): void;
  close(callback?: pm2.Done): void;
  destroy(callback: pm2.Done): void;
  destroy(): Promise<void>;

  start(
    what: string | number | ConfigExport | pm2.StartOptions | pm2.StartOptions[],
    callback: pm2.Result<pm2.Proc[]>,
  ): void;
  start(
    what: string | number | ConfigExport | pm2.StartOptions | pm2.StartOptions[],
    o: pm2.StartOptions | null | undefined,
    callback: pm2.Result<pm2.Proc[]>,
  ): void;
  start(
    what: string | number | ConfigExport | pm2.StartOptions | pm2.StartOptions[],
    o?: pm2.StartOptions,
  ): Promise<pm2.Proc[]>;

  restart(what: string | number | ConfigExport, callback: pm2.Result<pm2.Proc[]>): void;
  restart(what: string | number | ConfigExport, o: pm2.ReloadOptions, callback: pm2.Result<pm2.Proc[]>): void;
  restart(what: string | number | ConfigExport, o?: pm2.ReloadOptions): Promise<pm2.Proc[]>;
  reload(what: string | number | ConfigExport, callback: pm2.Result<pm2.Proc[]>): void;
  reload(what: string | number | ConfigExport, o: pm2.ReloadOptions, callback: pm2.Result<pm2.Proc[]>): void;
  reload(what: string | number | ConfigExport, o?: pm2.ReloadOptions): Promise<pm2.Proc[]>;
  gracefulReload: Pm2['reload'];
  stop(what: string | number | ConfigExport, callback: pm2.Result<pm2.Proc[]>): void;
  stop(what: string | number | ConfigExport): Promise<pm2.Proc[]>;
  delete(what: string | number | ConfigExport, callback: pm2.Result<pm2.Proc[]>): void;
  delete(what: string | number | ConfigExport): Promise<pm2.Proc[]>;

  list(callback: pm2.Result<pm2.ProcessDescription[]>): void;
  list(): Promise<pm2.ProcessDescription[]>;
  jlist: Pm2['list'];
  describe(what: string | number, callback: pm2.Result<pm2.ProcessDescription[]>): void;
  describe(what: string | number): Promise<pm2.ProcessDescription[]>;
  getPID(name: string | undefined, callback: pm2.Result<number[]>): void;
  getPID(name?: string): Promise<number[]>;
  getProcessIdByName(name: string, callback: pm2.Result<number[]>): void;
  getProcessIdByName(name: string): Promise<number[]>;
  env(id: string | number, callback: pm2.Result<Record<string, string>>): void;
  env(id: string | number): Promise<Record<string, string>>;
  getVersion(callback: pm2.Result<string>): void;
  getVersion(): Promise<string>;
  ping(callback: pm2.Result<{ msg: 'pong' }>): void;
  ping(): Promise<{ msg: 'pong' }>;

  scale(name: string | number, instances: number | string, callback: pm2.Done): void;
  scale(name: string | number, instances: number | string): Promise<{ success: true }>;
  reset(what: string | number, callback: pm2.Done): void;
  reset(what: string | number): Promise<{ success: true }>;
  dump(callback: pm2.Done): void;
  dump(force: boolean, callback: pm2.Done): void;
  dump(force?: boolean): Promise<{ success: true }>;

  clearDump(callback: pm2.Done): void;
  clearDump(): Promise<{ success: true }>;
  resurrect(callback: pm2.Result<pm2.Proc[]>): void;
  resurrect(): Promise<pm2.Proc[]>;
  flush(callback: pm2.Result<pm2.ProcessDescription[]>): void;
  flush(what: string | number, callback: pm2.Result<pm2.ProcessDescription[]>): void;
  flush(what?: string | number): Promise<pm2.ProcessDescription[]>;
  reloadLogs(callback: pm2.Done): void;
  reloadLogs(): Promise<{}>;
  update(callback: pm2.Done): void;
  update(): Promise<{ success: true }>;
  killDaemon(callback: pm2.Done): void;
  killDaemon(): Promise<{ success: true }>;
  kill: Pm2['killDaemon'];

  launchBus(callback: (error: pm2.Failure, bus: pm2.Bus, socket: pm2.Bus['sock']) => void): void;
  launchBus(): Promise<pm2.Bus>;
  sendDataToProcessId(
    id: number | string,
    packet: pm2.Packet,
    callback: pm2.Result<{ success: true; data: pm2.Packet }>,
  ): void;
  sendDataToProcessId(
    packet: pm2.Packet & { id: number | string },
    callback: pm2.Result<{ success: true; data: pm2.Packet }>,
  ): void;
  sendDataToProcessId(id: number | string, packet: pm2.Packet): Promise<{ success: true; data: pm2.Packet }>;
  sendDataToProcessId(packet: pm2.Packet & { id: number | string }): Promise<{ success: true; data: pm2.Packet }>;
  msgProcess(
    message: { id?: number; name?: string; msg: any },
    callback: pm2.Result<{ process_count: number; success: true }>,
  ): void;
  msgProcess(message: { id?: number; name?: string; msg: any }): Promise<{ process_count: number; success: true }>;
  trigger(what: string | number, action: string, callback: pm2.Result<any[]>): void;
  trigger(what: string | number, action: string, params: any, callback: pm2.Result<any[]>): void;
  trigger(what: string | number, action: string, params?: any): Promise<any[]>;
  sendLineToStdin(
    id: number | string,
    line: string,
    callback: pm2.Result<{ pm_id: number | string; line: string }>,
  ): void;
  sendLineToStdin(
    id: number | string,
    line: string,
    separator: string | null,
    callback: pm2.Result<{ pm_id: number | string; line: string }>,
  ): void;
  sendLineToStdin(
    id: number | string,
    line: string,
    separator?: string | null,
  ): Promise<{ pm_id: number | string; line: string }>;
  sendSignalToProcessName(signal: string | number, name: string, callback: pm2.Result<pm2.Proc[]>): void;
  sendSignalToProcessName(signal: string | number, name: string): Promise<pm2.Proc[]>;
  sendSignalToProcessId(signal: string | number, id: number | string, callback: pm2.Result<pm2.Proc[]>): void;
  sendSignalToProcessId(signal: string | number, id: number | string): Promise<pm2.Proc[]>;
  inspect(what: string | number, callback: pm2.Result<{ url: string | null }>): void;
  inspect(what: string | number): Promise<{ url: string | null }>;
  serve(path: string, port: number | string, o: Record<string, unknown>, callback: pm2.Result<pm2.Proc[]>): void;
  serve(path?: string, port?: number | string, o?: Record<string, unknown>): Promise<pm2.Proc[]>;
}

declare const pm2: Pm2;
export = pm2;
