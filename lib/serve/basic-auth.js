import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * @param {{username: string, password: string}} credentials
 * @returns {(header: string|undefined) => boolean}  Whether an Authorization header has them. How long it takes says nothing about how near a guess was.
 */
export function createGatekeeper({ username, password }) {
  const wanted = [digest(username), digest(password)];
  return (header = '') => {
    const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header)?.[1] ?? '';
    const text = Buffer.from(encoded, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    const given = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)];
    // Both are compared in any case.
    const isEqual = given.map((word, at) => timingSafeEqual(digest(word), wanted[at]));
    return isEqual.every(Boolean) && colon >= 0;
  };
}

/** Of one length, which the comparison needs. @param {string} text */
function digest(text) {
  return createHash('sha256').update(text).digest();
}
