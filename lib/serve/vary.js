/**
 * Says that the answer would be another one if this header of the request were another one: for caches.
 * @param {import('node:http').ServerResponse} response
 * @param {string} header
 */
export function varyBy(response, header) {
  const said = response.getHeader('Vary');
  response.setHeader('Vary', said === undefined ? header : `${said}, ${header}`);
}
