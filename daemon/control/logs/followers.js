import { createLineSplitter } from './line-splitter.js';

/** @import { LogEntry, LogStream } from '../../../lib/shared/protocol.js' */

/**
 * @typedef {object} Follower
 * @property {(slot: {id: number, name: string}, stream: LogStream) => boolean} wants
 * @property {(entries: LogEntry[]) => void} take
 */

/**
 * Hands lines to those who follow. While nobody does, a chunk costs nothing here.
 * @typedef {object} Followers
 * @property {(follower: Follower) => () => void} add  Returns what removes it.
 * @property {(source: Source, chunk: Buffer) => void} push
 * @property {(source: Source) => void} end  The source will not write any more: its unfinished line is told.
 */

/** One stream of one instance. @typedef {{slot: {id: number, name: string}, stream: LogStream, splitter: import('./line-splitter.js').LineSplitter|null}} Source */

/**
 * @param {() => number} nowMs
 * @returns {Followers}
 */
export function createFollowers(nowMs) {
  /** @type {Set<Follower>} */
  const followers = new Set();

  /** @param {Source} source @param {string[]} lines */
  function tell(source, lines) {
    if (lines.length === 0) return;
    const atMs = nowMs();
    const entries = lines.map((line) => ({ id: source.slot.id, name: source.slot.name, stream: source.stream, line, atMs }));
    for (const follower of followers) if (follower.wants(source.slot, source.stream)) follower.take(entries);
  }

  return {
    add(follower) {
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    push(source, chunk) {
      if (followers.size === 0) {
        source.splitter = null;
        return;
      }
      source.splitter ??= createLineSplitter();
      tell(source, source.splitter.push(chunk));
    },
    end(source) {
      if (source.splitter) tell(source, source.splitter.end());
      source.splitter = null;
    },
  };
}
