/**
 * Whether the keeper passes on what apps say: only while somebody here wants to hear it.
 * @typedef {ReturnType<typeof createHearing>} Hearing
 */

/**
 * @param {(isOn: boolean) => Promise<unknown>} ask  The keeper.
 */
export function createHearing(ask) {
  let listeners = 0;
  /** @type {Promise<unknown>} */
  let answer = Promise.resolve();

  /** @param {boolean} isOn */
  const say = (isOn) => {
    answer = ask(isOn);
    answer.catch(() => {}); // Whoever listens awaits it; the end of listening concerns nobody.
  };

  return {
    /** @returns {{isHeard: Promise<unknown>, end: () => void}}  `isHeard` rejects with a KeeperRefusal or a KeeperLost. */
    begin() {
      listeners += 1;
      if (listeners === 1) say(true);
      let isOver = false;
      return {
        isHeard: answer,
        end() {
          if (isOver) return;
          isOver = true;
          listeners -= 1;
          if (listeners === 0) say(false);
        },
      };
    },
    /** The next keeper has to be told. */
    again() {
      if (listeners > 0) say(true);
    },
  };
}
