// docs/metrics.md explains these shapes.

/** @import { Trouble } from './troubles.js' */
/** @import { ShownStatus } from './wire/protocol.js' */

export const TICK_MS = 1_000;

/** Latencies are those of the responses in this time, in ms. */
export const LATENCY_MS = 10_000;

/**
 * The value of an app is the sum of the values of its instances. The value of a 10 s step is the
 * mean of its 1 s steps. With `worst`, the maximum replaces the sum and the mean.
 */
export const SERIES = /** @type {const} */ ({
  cpu: { worst: false },
  memoryBytes: { worst: false },
  delayP99Ms: { worst: true },
  requestsPerS: { worst: false },
  errorsPerS: { worst: false },
  latencyP99Ms: { worst: true },
});

/** @typedef {keyof typeof SERIES} SeriesName */

/** The interval of the points in the history, in ms, and the number of points. */
export const STEPS = /** @type {const} */ ({ 1000: 600, 10000: 2160 });

/**
 * Sums over the life of a slot, through restarts and reloads.
 * @typedef {object} HttpTotals
 * @property {number} requests
 * @property {number} aborted
 * @property {number} upgrades  Upgrades to WebSocket. They do not count as requests.
 * @property {Record<'1xx' | '2xx' | '3xx' | '4xx' | '5xx', number>} responses
 * @property {number} durationMs
 */

/**
 * @typedef {object} HttpSample
 * @property {number} requestsPerS
 * @property {number} errorsPerS  Answers with status 500 or above.
 * @property {number} activeRequests
 * @property {number | null} oldestRequestMs  Age of the oldest request without response headers.
 *   Null: there is none.
 * @property {number | null} latencyP50Ms  Of the last 10 s. Null: there was no answer.
 * @property {number | null} latencyP95Ms
 * @property {number | null} latencyP99Ms
 * @property {HttpTotals} totals
 */

/**
 * Null: the value is not known.
 * @typedef {object} CommonSample
 * @property {string} name
 * @property {string} namespace
 * @property {number} restarts
 * @property {number} crashes
 * @property {number} cpu  Percent of one core.
 * @property {number} memoryBytes
 * @property {number} processes
 * @property {number | null} fds
 * @property {number | null} heapUsedBytes
 * @property {number | null} elu  Event loop utilization, 0 to 1. An app has the mean.
 * @property {number | null} delayP50Ms  Event loop delay in the last second. An app has the worst.
 * @property {number | null} delayP99Ms
 * @property {number | null} delayMaxMs
 * @property {number | null} gcMsPerS
 * @property {number | null} connections
 * @property {HttpSample | null} http  Null: there was no request.
 */

/**
 * The usage of a process together with its descendants.
 * @typedef {object} Tree
 * @property {number} processes
 * @property {number} cpu  Percent of one core.
 * @property {number} memoryBytes
 * @property {{ pid: number, program: string, cpu: number, cpuWanted: number } | null} top  The
 *   descendant that uses the most CPU. Null: there is none. `cpuWanted`: with the time for which it
 *   waited for a CPU.
 */

/**
 * `disk`: it waits for a file system or a device. `no-cpu`: other processes have the CPU.
 * @typedef {'computes' | 'waits' | 'disk' | 'stopped' | 'no-cpu'} ActivityKind
 */

/**
 * @typedef {object} WorkerOnly
 * @property {number} id
 * @property {number} slot
 * @property {number} pid  0: no process runs.
 * @property {string | null} instanceId
 * @property {ShownStatus} status
 * @property {number} generation
 * @property {number | null} startedAtMs
 * @property {number | null} onlineSinceMs
 * @property {boolean} isNode
 * @property {number | null} fdsLimit  The soft limit of open descriptors of the process.
 * @property {number | null} sockets  Among `fds`. Known only near the limit.
 * @property {Tree | null} tree
 * @property {number | null} cpuMs  CPU time that all processes of the slot have used.
 * @property {number | null} pssBytes  Only with `detail`, like privateBytes.
 * @property {number | null} privateBytes
 * @property {number | null} oldSpaceUsedBytes  After the last major GC. Null: none was seen.
 * @property {number | null} majorGcs  Seen since the process began.
 * @property {number | null} oldSpaceLimitBytes  At this use of the old space, the process ends.
 * @property {number | null} poolWaitMs  Time that the last job waits in the thread pool of libuv.
 * @property {number | null} externalBytes
 * @property {number | null} handles
 * @property {number | null} reportAgeMs  Before the first report: since the program was loaded.
 * @property {ActivityKind | null} activity  Of its main thread. Known only while it is blocked.
 * @property {Record<string, { value: unknown, unit?: string, type?: string }>} [custom]
 */

/** @typedef {CommonSample & WorkerOnly} WorkerSample */

/**
 * The lines on stderr of all processes of an app. Control begins to count when it starts.
 * @typedef {object} ErrorLines
 * @property {number} perS  In the last 10 s.
 * @property {number | null} usualPerS  The median of the minutes of the last hour. Null: in the first
 *   ten minutes.
 * @property {string | null} line  The most frequent line of the last minute, with "#" for numbers and
 *   ids. At most 200 characters. Null: there was none.
 * @property {number | null} share  Its share of the lines that were looked at, 0 to 1.
 * @property {number} total
 */

/**
 * @typedef {object} AppOnly
 * @property {number} workers
 * @property {number} online
 * @property {ErrorLines | null} errorLines
 */

/** @typedef {CommonSample & AppOnly} AppSample */

/**
 * @typedef {object} HostSample
 * @property {number} cpu  Percent of the whole machine.
 * @property {number} cores
 * @property {number} memoryTotalBytes
 * @property {number} memoryUsedBytes
 * @property {number} load1
 * @property {number} load5
 * @property {number} load15
 * @property {number | null} diskTotalBytes  Size of the file system of the home.
 * @property {number | null} diskUsedBytes
 * @property {number} uptimeS
 */

/** @typedef {{ pid: number, cpu: number, memoryBytes: number }} OwnSample */

/**
 * @typedef {object} MetricsSample
 * @property {number} atMs
 * @property {HostSample} host
 * @property {{ keeper: OwnSample, control: OwnSample }} manager
 * @property {AppSample[]} apps
 * @property {WorkerSample[]} workers
 * @property {Trouble[]} [troubles]  In answers of the manager. An earlier version sends none.
 */

/** @typedef {(number | null)[]} Points  Oldest first. */

/**
 * @typedef {object} MetricsHistory
 * @property {number} stepMs
 * @property {number} endMs
 * @property {number} points
 * @property
 *   {{ id: number, name: string, slot: number, series: Partial<Record<SeriesName, Points>> }[]}
 *   workers
 * @property {{ name: string, series: Partial<Record<SeriesName, Points>> }[]} apps
 * @property {{ cpu: Points, memoryUsedBytes: Points, load1: Points }} host
 */
