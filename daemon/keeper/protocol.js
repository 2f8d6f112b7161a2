// See docs/protocol.md.

export const PROTOCOL = 1;

/** Because of the prefix, Node.js emits 'internalMessage', which an app does not see. */
export const AGENT_CMD = 'NODE_NCLUST';

/**
 * @typedef {'cluster' | 'fork' | 'exec'} Mode  A node:cluster worker, Node.js, or any program.
 *
 * @typedef {object} SpawnParams
 * @property {string} instanceId  Also the value of NCLUST_INSTANCE in `env`.
 * @property {string} app
 * @property {string} [scope]  Instances of a scope share sockets. Default: `app`.
 * @property {unknown} label  Returned in the snapshot.
 * @property {Mode} mode
 * @property {string} file  A node binary unless mode is `exec`.
 * @property {string} [script]  For `cluster` and `fork`.
 * @property {string[]} args  For `exec` all arguments.
 * @property {string[]} execArgv  For Node.js itself. Ignored for `exec`.
 * @property {boolean} [hasChannel]  `exec`: process.send() works in the program.
 * @property {boolean} [hasPreload]  `exec`: Node.js processes in its tree load agent/tree.
 * @property {string} cwd
 * @property {boolean} [isCwdTrusted]  The keeper enters `cwd` with its own rights.
 * @property {Record<string, string>} env  The whole environment.
 * @property {number} [uid]
 * @property {number} [gid]
 * @property {number} [slot]  For sticky scheduling. Default: 0.
 * @property {Scheduling} [scheduling]  Default: `os`.
 * @property {boolean} [metrics]  Default: true.
 * @property {boolean} [isGated]  The instance accepts nothing until `admit`.
 * @property {{ out: string | null, err: string | null }} [logFiles]  See agent/log-fallback.cjs.
 *
 * @typedef {object} RetireParams
 * @property {string} instanceId
 * @property {number} killTimeoutMs  From this request until SIGKILL. 0 kills at once.
 * @property {NodeJS.Signals | null} signal  null: the signal that the program handles.
 * @property {'handover' | 'finish'} drain  handover: other instances take over the clients.
 * @property {boolean} tree  Whether descendants are ended, too.
 * @property {boolean} [message]  The app gets the message 'shutdown' in place of the signal.
 *
 * @typedef {'least-connections' | 'sticky' | 'os'} Scheduling  See docs/balancing.md.
 *
 * @typedef {object} AdoptParams
 * @property {string} instanceId
 * @property {string} app
 * @property {string} [scope]
 * @property {unknown} label
 * @property {Mode} mode
 * @property {number} pid
 * @property {number} [uid]  Default: the user of the keeper.
 * @property {string} startTicks  Field 22 of /proc/PID/stat. Distinguishes reused pids.
 * @property {number} [startedAtMs]
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 *
 * @typedef {object} Address
 * @property {string} address
 * @property {number} port
 * @property {string} family  'IPv4', 'IPv6' or 'pipe': a path, with port 0.
 *
 * @typedef {object} ListenFailure
 * @property {string | null} address  null: all addresses. For a Unix socket the path.
 * @property {number} port
 * @property {number} family  4, 6, or 0 for a Unix socket.
 * @property {string} code
 * @property {string | null} app  The app that holds the address.
 * @property {boolean} isUdp  A UDP socket: the app exited, because it did not handle the error.
 *
 * @typedef {object} Exit
 * @property {number | null} code
 * @property {string | null} signal
 * @property {number} atMs
 *
 * @typedef {object} ChildSnapshot
 * @property {string} instanceId
 * @property {string} app
 * @property {string} scope
 * @property {unknown} label
 * @property {number} pid
 * @property {string | null} startTicks
 * @property {Mode} mode
 * @property {number} startedAtMs
 * @property {number | null} bootedAtMs  See child.js.
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 * @property {Address[]} addresses
 * @property {ListenFailure | null} listenFailure
 * @property {boolean} isReady
 * @property {boolean} isRetiring
 * @property {boolean} isGated
 * @property {boolean} isParked
 * @property {boolean} isAdopted
 * @property {Exit | null} exit
 * @property {boolean} isGone  The last process of its tree is gone.
 * @property {unknown} [report]  The last report of the agent, when the instance is gone.
 */

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
