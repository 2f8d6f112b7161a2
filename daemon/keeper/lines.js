/** Nothing that comes through the door is longer; who sends more is not one of ours. */
const MAX_LINE = 64 * 1024;

/**
 * Reads JSON messages, one a line, from a socket. A line that is too long or not JSON closes the connection.
 * @param {import('node:net').Socket} socket
 * @param {(message: Record<string, unknown>) => void} onMessage
 */
export function readMessages(socket, onMessage) {
  let rest = '';
  socket.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const message = parse(line);
      if (message === null) return void socket.destroy();
      onMessage(message);
    }
    if (rest.length > MAX_LINE) socket.destroy();
  });
}

/**
 * @param {string} line
 * @returns {Record<string, unknown> | null}
 */
function parse(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
