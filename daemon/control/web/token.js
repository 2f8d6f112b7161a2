import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { replaceFile } from '../../../lib/shared/host/replace-file.js';

/** 256 bits cannot be guessed. */
const TOKEN_BYTES = 32;
const SHAPE = /^[\w-]{43}$/;

/**
 * @param {string} file
 * @returns {string}  The token in the file. If the file has no valid token, writes a new one.
 *   Throws errors of the file system.
 */
export function loadToken(file) {
  return readToken(file) ?? newToken(file);
}

/**
 * @param {string} file  Replaced atomically. Mode 0600 from the start.
 * @returns {string}  The new token. Throws errors of the file system.
 */
export function newToken(file) {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  replaceFile(file, `${token}\n`);
  return token;
}

/**
 * Returns a function that compares a given token in constant time.
 * @param {string} token
 * @returns {(given: unknown) => boolean}
 */
export function createTokenCheck(token) {
  const right = digest(token);
  return (given) => typeof given === 'string' && timingSafeEqual(digest(given), right);
}

/** @param {string} file */
function readToken(file) {
  try {
    const token = readFileSync(file, 'utf8').trim();
    return SHAPE.test(token) ? token : null;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
}

/** @param {string} text */
function digest(text) {
  return createHash('sha256').update(text).digest();
}
