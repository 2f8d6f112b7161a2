import { readIfThere } from './files.js';

/**
 * The users and groups of the system, without those of a directory service.
 * @typedef {object} AccountFiles
 * @property {() => string} passwd
 * @property {() => string} group
 */

/** @type {AccountFiles} */
export const ACCOUNT_FILES = { passwd: () => readIfThere('/etc/passwd'), group: () => readIfThere('/etc/group') };

/**
 * @param {number} gid
 * @param {AccountFiles} [files]
 * @returns {number[] | null}  User ids. NaN: passwd does not contain this member. Null: no file
 *   contains the group.
 */
export function listMembers(gid, { passwd, group } = ACCOUNT_FILES) {
  const users = splitLines(passwd());
  const line = splitLines(group()).find(([, , id]) => Number(id) === gid);
  const names = line?.[3]?.split(',').filter(Boolean) ?? [];
  const firstOf = users.filter(([, , , id]) => Number(id) === gid);
  if (!line && firstOf.length === 0) return null;
  return [...names.map((name) => users.find(([one]) => one === name)), ...firstOf].map((user) => Number(user?.[2]));
}

/** @param {string} text */
export function splitLines(text) {
  return text.split('\n').map((line) => line.split(':'));
}
