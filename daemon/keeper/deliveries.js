// What an app was given, by the token of who asked: a control that dies before it has answered is asked again, and so is the keeper.

/** Of one instance. */
const TOKENS_KEPT = 256;

/** @typedef {import('./child.js').Child} Child */

export function createDeliveries() {
  /** Oldest first. @type {WeakMap<Child, string[]>} */
  const given = new WeakMap();
  return {
    /**
     * Gives it, unless that was done.
     * @param {Child} child
     * @param {unknown} token  None: it is not told apart from others.
     * @param {() => void} give
     * @returns {{ isRepeated: boolean }}
     */
    once(child, token, give) {
      const tokens = given.get(child) ?? [];
      if (typeof token === 'string' && tokens.includes(token)) return { isRepeated: true };
      give();
      if (typeof token === 'string') given.set(child, [...tokens, token].slice(-TOKENS_KEPT));
      return { isRepeated: false };
    },
  };
}
