/**
 * @param {{hello: import('../shared/wire/protocol.js').Hello}} data
 * @returns {string}
 */
export function renderPing({ hello }) {
  return `pong: nclust ${hello.version}, keeper pid ${hello.keeperPid}, control pid ${hello.controlPid}\n`;
}
