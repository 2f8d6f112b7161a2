/**
 * @param {{ host: string, port: number }} address
 * @returns {string}  An IPv6 address is in brackets.
 */
export function formatAddress({ host, port }) {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * @param {string} address
 * @param {number} port  0: `address` is the path of a Unix socket.
 */
export function formatPlace(address, port) {
  return port === 0 ? address : formatAddress({ host: address, port });
}
