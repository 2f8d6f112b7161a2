'use strict';

const { tryTo } = require('./isolation.cjs');

/**
 * Node writes to a pipe asynchronously and drops what is queued at process.exit(): of 100 000 lines
 * 2 634 arrived. In blocking mode all do. The streams are created when the app first uses them, as
 * without us: they cost memory and time.
 */
function keepLastWords() {
  for (const name of ['stdout', 'stderr']) {
    const original = Object.getOwnPropertyDescriptor(process, name);
    if (!original?.get || !original.configurable) continue;
    const { get } = original;
    const first = () => {
      const stream = get.call(process);
      tryTo(() => {
        stream?._handle?.setBlocking?.(true);
        // The app may have put a stream of its own there, and call this one for what it is.
        if (Object.getOwnPropertyDescriptor(process, name)?.get === first)
          Object.defineProperty(process, name, original);
      });
      return stream;
    };
    Object.defineProperty(process, name, { ...original, get: first });
  }
}

module.exports = { keepLastWords };
