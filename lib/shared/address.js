/**
 * @param {{ host: string, port: number }} address
 * @returns {string}  An IPv6 address is in brackets.
 */
export function formatAddress({ host, port }) {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
