/** @typedef {(...args: any[]) => void} Listener */
/** @typedef {{event: string, pattern: RegExp|null, listener: Listener, isOnce: boolean}} Entry */

/**
 * Events by name or by pattern: a listener of "log:*" gets what the star stands for, then the event, as PM2's bus does it.
 */
export class PatternEmitter {
  /** @type {Entry[]} */
  #entries = [];

  /** @param {string} event @param {Listener} listener */
  on(event, listener) {
    this.#add(event, listener, false);
    return this;
  }

  /** @param {string} event @param {Listener} listener */
  once(event, listener) {
    this.#add(event, listener, true);
    return this;
  }

  /** @param {string} event @param {Listener} [listener]  Default: all of the event. */
  off(event, listener) {
    this.#entries = this.#entries.filter((one) => one.event !== event || (listener !== undefined && one.listener !== listener));
    return this;
  }

  /** @param {string} [event]  Default: all. */
  removeAllListeners(event) {
    this.#entries = event === undefined ? [] : this.#entries.filter((one) => one.event !== event);
    return this;
  }

  /** @param {string} event @returns {Listener[]} */
  listeners(event) {
    return this.#matching(event).map(({ entry }) => entry.listener);
  }

  /**
   * Tells listeners. What one of them throws is nobody's but the program's: it does not end the bus.
   * @param {string} event @param {unknown} data
   */
  emit(event, data) {
    const found = this.#matching(event);
    for (const { entry, stars } of found) {
      if (entry.isOnce) this.#entries = this.#entries.filter((one) => one !== entry);
      try {
        entry.listener.call(this, ...stars, data);
      } catch (error) {
        queueMicrotask(() => { throw error; });
      }
    }
    return found.length > 0;
  }

  /** @param {(event: string, data: unknown) => void} listener */
  onAny(listener) {
    return this.on('*', listener);
  }

  /** @param {(event: string, data: unknown) => void} [listener] */
  offAny(listener) {
    return this.off('*', listener);
  }

  /** @param {string} event @param {Listener} listener */
  addListener(event, listener) {
    return this.on(event, listener);
  }

  /** @param {string} event @param {Listener} listener */
  removeListener(event, listener) {
    return this.off(event, listener);
  }

  /** @param {string} event @param {Listener} listener @param {boolean} isOnce */
  #add(event, listener, isOnce) {
    this.#entries.push({ event, pattern: patternOf(event), listener, isOnce });
  }

  /** @param {string} event */
  #matching(event) {
    return this.#entries.flatMap((entry) => {
      if (!entry.pattern) return entry.event === event ? [{ entry, stars: /** @type {string[]} */ ([]) }] : [];
      const match = entry.pattern.exec(event);
      return match ? [{ entry, stars: match.slice(1) }] : [];
    });
  }
}

/** @param {string} event */
function patternOf(event) {
  if (!event.includes('*')) return null;
  const parts = event.split(/\*+/).map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('(.+)')}$`);
}
