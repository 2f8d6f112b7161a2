// What crosses the keeper's borders. docs/protocol.md tells it in prose.

/** The version of the messages between keeper and control. */
export const PROTOCOL = 1;

/**
 * `cmd` of the messages between keeper and agent. The prefix makes Node deliver them as
 * 'internalMessage', which no app sees.
 */
export const AGENT_CMD = 'NODE_NCLUST';

/**
 * @typedef {'cluster' | 'fork' | 'exec'} Mode  How a process is started: a node:cluster worker, a
 *   Node process, or any program.
 *
 * @typedef {object} SpawnParams
 * @property {string} instanceId  Identity of the process; also the value of NCLUST_INSTANCE in
 *   `env`.
 * @property {string} app  Owner of listening sockets, for people.
 * @property {string} [scope]  Instances with the same scope share listening sockets. Default:
 *   `app`.
 * @property {unknown} label  Opaque: given back in the snapshot.
 * @property {Mode} mode
 * @property {string} file  The program: a node binary unless mode is `exec`.
 * @property {string} [script]  The app's entry file, for `cluster` and `fork`.
 * @property {string[]} args  The app's arguments; for `exec` all arguments.
 * @property {string[]} execArgv  Arguments for node itself. Ignored for `exec`.
 * @property {string} cwd
 * @property {Record<string, string>} env  The whole environment.
 * @property {number} [uid]
 * @property {number} [gid]
 * @property {number} [slot]  Sticky scheduling chooses among slots, so that a client comes back to
 *   the same one after a reload. Default: 0.
 * @property {Scheduling} [scheduling]  Of a cluster worker. Default: `os`.
 * @property {boolean} [metrics]  Whether its agent counts. Default: true.
 * @property {boolean} [isGated]  Its sockets are bound, and nothing is accepted until `admit`.
 * @property {{ out: string | null, err: string | null }} [logFiles]  Where the process itself puts
 *   its output while neither keeper nor control lives.
 *
 * @typedef {object} RetireParams
 * @property {string} instanceId
 * @property {number} killTimeoutMs  From this request until SIGKILL. 0 kills at once.
 * @property {NodeJS.Signals | null} signal  null: the one the program listens to.
 * @property {'handover' | 'finish'} drain  Whether other instances take over the clients.
 * @property {boolean} tree  Whether descendants are ended too.
 * @property {boolean} [message]  Whether 'shutdown' is sent over the app's own channel in place of
 *   the signal.
 *
 * @typedef {'least-connections' | 'sticky' | 'os'} Scheduling  Who accepts a connection:
 *   docs/balancing.md.
 *
 * @typedef {object} AdoptParams
 * @property {string} instanceId
 * @property {string} app
 * @property {string} [scope]
 * @property {unknown} label
 * @property {Mode} mode
 * @property {number} pid
 * @property {number} [uid]  The user that it runs as. Default: the keeper's.
 * @property {string} startTicks  Field 22 of /proc/PID/stat: with the pid it is an identity.
 * @property {number} [startedAtMs]
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 *
 * @typedef {object} Address
 * @property {string} address
 * @property {number} port
 * @property {string} family  'IPv4', 'IPv6' or 'pipe' (then `address` is the path and port is 0).
 *
 * @typedef {object} ListenFailure  A listen() that failed.
 * @property {string | null} address  As the app asked: null is all addresses, and of a Unix socket it
 *   is the path.
 * @property {number} port
 * @property {number} family  4, 6, or 0 for a Unix socket.
 * @property {string} code  The system's.
 * @property {string | null} app  Which app holds the address.
 * @property {boolean} isUdp  Of a socket of UDP. The app did not handle the error, so it ended.
 *
 * @typedef {object} Exit
 * @property {number | null} code
 * @property {string | null} signal
 * @property {number} atMs
 *
 * @typedef {object} ChildFact
 * @property {string} instanceId
 * @property {string} app
 * @property {string} scope
 * @property {unknown} label
 * @property {number} pid
 * @property {string | null} startTicks
 * @property {Mode} mode
 * @property {number} startedAtMs
 * @property {number | null} bootedAtMs  Since when its age counts; see child.js.
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 * @property {Address[]} addresses
 * @property {ListenFailure | null} listenFailure
 * @property {boolean} isReady  The app sent 'ready'.
 * @property {boolean} isRetiring
 * @property {boolean} isGated
 * @property {boolean} isParked
 * @property {boolean} isAdopted
 * @property {Exit | null} exit
 * @property {boolean} isGone  The last process of its tree is gone.
 * @property {unknown} [report]  The last one of its agent, when it is gone.
 */

/** An error with a code that control can act upon. */
export class KeeperError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'KeeperError';
    this.code = code;
  }
}
