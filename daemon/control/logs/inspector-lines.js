const LINES =
  /Debugger (?:listening|ending) on ws:\/\/\S+\n|Debugger attached\.\n|For help, see: https:\/\/nodejs\.org\/\S+\n/g;
const URL_LINE = /^Debugger listening on (ws:\/\/127\.0\.0\.1:\d+\/[\w-]{1,100})\n/;

/**
 * Takes the lines that Node.js prints about its inspector out of the stderr of a process, while
 * nclust has opened the inspector. The address in these lines is a secret: a program that knows it
 * can run code in the process.
 */
export function createInspectorLines() {
  /** @type {Set<(url: string) => void>} */
  const listeners = new Set();
  return {
    /**
     * @param {(url: string) => void} onUrl
     * @returns {() => void}  Shows the lines again, unless another caller hides them.
     */
    hide(onUrl) {
      listeners.add(onUrl);
      return () => void listeners.delete(onUrl);
    },
    /**
     * @param {Buffer} chunk  Node.js writes each of its lines at once, so a chunk has whole ones.
     * @returns {Buffer}
     */
    takeOut(chunk) {
      if (listeners.size === 0) return chunk;
      const text = chunk.toString('latin1').replace(LINES, (line) => {
        const url = URL_LINE.exec(line)?.[1];
        if (url !== undefined) for (const onUrl of listeners) onUrl(url);
        return '';
      });
      return Buffer.from(text, 'latin1');
    },
  };
}
