/** daemon/keeper/lock.js explains the sockets and the marks. */
const NAME = /^keeper\.(\d+)\.(sock|left)$/;

/**
 * Finds the locks of a home: sockets of keepers, and the marks of keepers that have exited.
 * @param {string[]} names  The names in the folder `run`.
 * @returns {{ name: string, number: number, isSocket: boolean }[]}  Newest last. The mark of a
 *   keeper comes after its socket.
 */
export function locksAmong(names) {
  return names
    .map((name) => ({ name, match: NAME.exec(name) }))
    .flatMap(({ name, match }) => (match ? [{ name, number: Number(match[1]), isSocket: match[2] === 'sock' }] : []))
    .sort((a, b) => a.number - b.number || Number(b.isSocket) - Number(a.isSocket));
}
