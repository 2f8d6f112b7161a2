// A process can send any descriptor over a Unix socket. Node.js in the keeper aborts if it is a
// file. If it is a TCP connection with SO_LINGER, the system blocks the process that closes the
// last copy, for as long as the sender likes. It also blocks a keeper that reads with read(2), or
// that closes the Unix socket without reading. So an app of another user gets a channel that does
// not carry descriptors to the keeper:
//
//   keeper --> Node.js        Unix socket, which carries handles. The app cannot write to it.
//   keeper <-- Node.js        a named pipe, the lane. The agent writes to it (agent/channel.cjs).
//   keeper <-> other program  a TCP connection, because there is no agent that could use a lane.
//
// An app of the keeper's own user could end the keeper by a signal, so it has the channel of
// Node.js, which costs less. channel-filter.js protects the keeper if that app is broken.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { closeShared } from '../../lib/shared/daemon/close-shared.js';
import { internalOf } from './channel-filter.js';
import { makeOneWayPair, makeTcpPair } from './host/socket-pair.js';
import { openLane } from './pipes.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Socket } from 'node:net' */
/** @import { Owner } from './host/owner.js' */
/** @import { createPipePool, OneWay } from './pipes.js' */
/** @import { SpawnParams } from './protocol.js' */
/** @import { Pair } from './host/socket-pair.js' */

/** @typedef {ReturnType<typeof createPipePool>} PipePool */

/** The descriptor of the channel in a program. A lane is the next one. */
const CHANNEL_FD = 3;
/** An app can keep the end of its stream away, by a packet filter. */
const END_MAX_MS = 10_000;

/**
 * @typedef {object} ChannelEnds
 * @property {number[]} laneFds  For the program, from CHANNEL_FD + 1. Empty: without a lane.
 * @property {(start: () => ChildProcess) => ChildProcess} give  `start` starts one process, whose
 *   stdio has 'ipc' as CHANNEL_FD.
 * @property {() => void} close  Idempotent.
 */

/** @param {Pick<SpawnParams, 'mode' | 'hasChannel' | 'uid'>} params */
function needsOwnEnds({ mode, hasChannel, uid }) {
  const isOfOther = uid !== undefined && uid !== process.geteuid?.();
  return isOfOther && (mode !== 'exec' || hasChannel === true);
}

/**
 * @param {Pick<SpawnParams, 'mode' | 'hasChannel' | 'uid'>} params
 * @param {Pick<PipePool, 'takeOne'>} pipes
 * @param {Owner | null} owner
 * @returns {Promise<ChannelEnds | null>}  null: the channel of Node.js is good enough.
 */
export async function openEnds(params, pipes, owner) {
  if (!needsOwnEnds(params)) return null;
  if (params.mode === 'exec') return createTcpEnds(await makeTcpPair());
  const path = await pipes.takeOne();
  const lane = openLane(path, owner);
  try {
    return createNodeEnds(await makeOneWayPair(path), lane);
  } catch (error) {
    lane.close();
    throw error;
  }
}

/**
 * @param {Pair} pair
 * @param {OneWay} lane
 * @returns {ChannelEnds}
 */
function createNodeEnds({ own, given }, lane) {
  /** @type {Socket | null} */
  let source = null;
  const close = () => {
    for (const socket of [own, given, source]) socket?.destroy();
    lane.close();
  };
  return {
    laneFds: [lane.fd],
    close,
    give(start) {
      const child = startChannel(given, start);
      given.destroy();
      source = lane.given();
      replaceEnds(child, { target: own, source, close });
      return child;
    },
  };
}

/**
 * @param {Pair} pair
 * @returns {ChannelEnds}
 */
function createTcpEnds({ own, given }) {
  // A failed reset or end is reported here, and then the connection is gone, too.
  own.on('error', () => {});
  given.on('error', () => {});
  const close = () => {
    own.resetAndDestroy();
    closeShared(getHandle(given), () => void given.destroy());
  };
  return {
    laneFds: [],
    close,
    give(start) {
      const child = startChannel(given, start);
      const channel = replaceEnds(child, { target: own, source: own, close });
      // The keeper keeps `given` open. The end of the stream follows its last byte, however late
      // the system delivers that.
      child.once('exit', () => {
        given.end();
        setTimeout(() => child.connected && channel.onread(), END_MAX_MS).unref();
      });
      return child;
    },
  };
}

/**
 * @param {Socket} given
 * @param {() => ChildProcess} start
 */
function startChannel(given, start) {
  // Programs without Node.js do not expect EAGAIN.
  getHandle(given).setBlocking(true);
  /** @param {any} message  Comes after `new ChildProcess()`. */
  const onChild = ({ process: { _handle: native } }) => {
    native.spawn = (/** @type {any[]} */ ...args) => {
      delete native.spawn;
      // Until Node.js 22, the arguments are one object.
      const channel = (args[4] ?? args[0].stdio)[CHANNEL_FD];
      // Node.js would make a pair of sockets for the type 'pipe'.
      Object.assign(channel, { type: 'fd', fd: getHandle(given).fd });
      const errno = native.spawn(...args);
      channel.type = 'pipe';
      return errno;
    };
  };
  subscribe('child_process', onChild);
  try {
    return start();
  } finally {
    unsubscribe('child_process', onChild);
  }
}

/**
 * @param {ChildProcess} child
 * @param {{ target: Socket, source: Socket, close: () => void }} ends
 */
function replaceEnds(child, { target, source, close }) {
  const channel = internalOf(child, 'kChannelHandle');
  const [writer, reader] = [getHandle(target), getHandle(source)];
  const closeHandle = channel.close.bind(channel);
  // lib/internal/child_process.js works unchanged, because the state of the last read or write that
  // it looks at belongs to no handle.
  Object.defineProperty(channel, 'writeQueueSize', { get: () => writer.writeQueueSize });
  Object.assign(channel, {
    writeUtf8String: writer.writeUtf8String.bind(writer),
    readStart: reader.readStart.bind(reader),
    readStop: reader.readStop.bind(reader),
    close(/** @type {() => void} */ onClosed) {
      close();
      closeHandle(onClosed);
    },
  });
  reader.onread = (/** @type {ArrayBuffer} */ bytes) => channel.onread(bytes);
  reader.readStart();
  return channel;
}

/** @param {Socket} socket */
function getHandle(socket) {
  return /** @type {any} */ (socket)._handle;
}
