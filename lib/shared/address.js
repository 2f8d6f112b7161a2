/**
 * @param {{ host: string, port: number }} address
 * @returns {string}  An IPv6 address is in brackets.
 */
export function formatAddress({ host, port }) {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * @param {{ address: string, port: number }} socket
 * @returns {string}  The path of a Unix socket, whose port is 0.
 */
export function formatPlace({ address, port }) {
  return port === 0 ? address : formatAddress({ host: address, port });
}
