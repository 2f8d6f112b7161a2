const NEWLINE = 0x0a;

/**
 * Lets so many bytes a second pass, of whole lines; one that is longer than that is cut. What is beyond is lost, for who prefers that to a full disk.
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
  /** What became of the line that the last chunk ended in. cut: its beginning has passed, and nothing more of it but its end. @type {'passed'|'refused'|'cut'|null} */
  let unfinished = null;

  function fill() {
    const now = nowMono();
    leftBytes = Math.min(bytesPerSecond, leftBytes + ((now - filledMono) / 1000) * bytesPerSecond);
    filledMono = now;
  }

  return {
    admit(chunk) {
      fill();
      // A line that has begun is ended as it has begun, even if that costs what comes later; but not without end.
      if (unfinished === 'passed' && leftBytes < -bytesPerSecond) unfinished = 'cut';
      const begin = unfinished ? endOfLine(chunk) : 0;
      const was = unfinished;
      if (was === 'passed') leftBytes -= begin;
      const rest = chunk.subarray(begin);
      const end = rest.length <= leftBytes ? rest.length : lastLineWithin(rest, leftBytes);
      leftBytes -= end;
      if (chunk.at(-1) === NEWLINE) unfinished = null;
      else if (rest.length > 0) unfinished = end === rest.length ? 'passed' : 'refused';
      if (was === 'passed') return { passed: chunk.subarray(0, begin + end), refused: rest.subarray(end) };
      if (was === 'cut' && chunk[begin - 1] === NEWLINE) return { passed: chunk.subarray(begin - 1, begin + end), refused: Buffer.concat([chunk.subarray(0, begin - 1), rest.subarray(end)]) };
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
