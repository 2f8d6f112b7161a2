const NEWLINE = 0x0a;

/**
 * Lets so many bytes a second pass, of whole lines. What is beyond is lost, for who prefers that to a full disk.
 * @typedef {object} RateLimit
 * @property {(chunk: Buffer) => {passed: Buffer, refused: Buffer}} admit
 */

/**
 * @param {number} bytesPerSecond  As much may come in one burst, too.
 * @param {() => number} nowMono  In ms.
 * @returns {RateLimit}
 */
export function createRateLimit(bytesPerSecond, nowMono) {
  let leftBytes = bytesPerSecond;
  let filledMono = nowMono();
  /** What became of the line that the last chunk ended in. @type {'passed'|'refused'|null} */
  let unfinished = null;

  function fill() {
    const now = nowMono();
    leftBytes = Math.min(bytesPerSecond, leftBytes + ((now - filledMono) / 1000) * bytesPerSecond);
    filledMono = now;
  }

  return {
    admit(chunk) {
      fill();
      // A line that has begun is ended as it has begun, even if that costs what comes later.
      const begin = unfinished ? endOfLine(chunk) : 0;
      const isBeginPassed = unfinished === 'passed';
      if (isBeginPassed) leftBytes -= begin;
      const rest = chunk.subarray(begin);
      const end = rest.length <= leftBytes ? rest.length : lastLineWithin(rest, leftBytes);
      leftBytes -= end;
      if (chunk.at(-1) === NEWLINE) unfinished = null;
      else if (rest.length > 0) unfinished = end === rest.length ? 'passed' : 'refused';
      if (isBeginPassed) return { passed: chunk.subarray(0, begin + end), refused: rest.subarray(end) };
      return { passed: rest.subarray(0, end), refused: begin === 0 ? rest.subarray(end) : Buffer.concat([chunk.subarray(0, begin), rest.subarray(end)]) };
    },
  };
}

/** @param {Buffer} chunk */
function endOfLine(chunk) {
  const at = chunk.indexOf(NEWLINE);
  return at === -1 ? chunk.length : at + 1;
}

/** @param {Buffer} bytes @param {number} maxBytes */
function lastLineWithin(bytes, maxBytes) {
  return maxBytes < 1 ? 0 : bytes.lastIndexOf(NEWLINE, Math.floor(maxBytes) - 1) + 1;
}
