import type { ConfigExport, ConfigFunction } from './config/config-types.js';

export type { AppConfig, Config, ConfigExport, ConfigFunction, StaticConfig, Variables } from './config/config-types.js';

/** Says what a config file exports, so that an editor knows its attributes. It returns what it is given. */
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

/** A notification or an answer, as docs/protocol.md describes them. */
export interface Message {
  id?: string | number | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
}

/** One conversation with the manager. It survives the manager: what is unanswered is asked again. */
export interface Client {
  /** What the manager said of itself when the connection was made. */
  hello: Record<string, unknown> | null;
  /** Any method of docs/protocol.md. Rejects with a NclustError. */
  request(method: string, params?: Record<string, unknown>): Promise<any>;
  /** What the manager says unasked, until the connection closes. One reader at a time. */
  notifications(): AsyncGenerator<Message, void, void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/**
 * Connects to the manager of a home, and starts it when none runs. The caller closes the client.
 * @param o.home Default: NCLUST_HOME, else ~/.nclust.
 */
export function connect(o?: { home?: string }): Promise<Client>;
