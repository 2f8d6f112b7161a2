import { NclustError } from '../../../../lib/shared/errors.js';

/** @import { Worker } from './worker.js' */

/** What a file system says. */
const OF_FILES = new Set(['EACCES', 'EDQUOT', 'EEXIST', 'EFBIG', 'EIO', 'ELOOP', 'EMFILE', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS']);

/** Whoever takes a snapshot of its heap stands still, and is not held up by its own code. @param {Worker} one */
export function checkNoSnapshot(one) {
  if (one.instance.snapshots) orFailure(one, { failure: { code: 'EBUSY', message: 'heap' } });
}

/**
 * @template {{failure: {code: string, message: string}|null}} T
 * @param {Pick<Worker, 'id'|'name'>} about
 * @param {T} answer  Of an agent.
 * @param {string} [file]
 * @returns {T}  Throws ERR_NCLUST_PROFILE_BUSY, ERR_NCLUST_FILE_UNWRITABLE and ERR_NCLUST_NOT_REACHABLE for what went wrong in the process.
 */
export function orFailure({ id, name }, answer, file) {
  if (!answer.failure) return answer;
  const { code, message } = answer.failure;
  const who = `"${name}" (id ${id})`;
  const data = { id, name };
  if (code === 'EBUSY') throw new NclustError('ERR_NCLUST_PROFILE_BUSY', `A profile of ${who} is under way (${message}).`, { hint: 'Wait for it, or end the command that takes it.', data });
  if (file !== undefined && OF_FILES.has(code)) {
    throw new NclustError('ERR_NCLUST_FILE_UNWRITABLE', `${who} cannot write "${file}" (${code}); nothing of it was kept.`, { hint: 'The process itself writes it: choose with --output a folder it may write to, on a disk with room.', data: { ...data, file } });
  }
  throw new NclustError('ERR_NCLUST_NOT_REACHABLE', `${who} cannot be looked into: ${message}.`, { data });
}
