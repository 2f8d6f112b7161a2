/** A chunk of this size, half of what the kernel keeps for a pipe, says that the writer is ahead of us. */
const LARGE_BYTES = 32 * 1024;

/** Above this it is a flood, in bytes per ms. */
const FLOOD_RATE = 1024;

/** After a silence as long as this, in ms, a line is shown at once. */
const SILENCE_MS = 100;

/** In a flood, in ms. Longer, and the writer fills the pipe and waits: two to three times as long, for 300,000 lines. */
const PAUSE_MIN_MS = 1;

/** How long a line may wait in the pipe, in ms; the first of a trickle half as long. */
const PAUSE_MAX_MS = 20;

/**
 * How long to leave a pipe alone, so that the next read finds many lines and not one. Read line by line, a flood of 300,000 lines costs 25 ms of CPU per MB; with these pauses 4, and the app is done sooner.
 * They also make those moments rare in which something has been read and is not written yet: what a SIGKILL of this process can cost.
 * @returns {(sizeBytes: number, nowMs: number) => number}  After each read: the pause in ms, 0 for none.
 */
export function createPace() {
  let lastMs = -Infinity;
  let pauseMs = PAUSE_MIN_MS;

  return (sizeBytes, nowMs) => {
    const sinceMs = nowMs - lastMs;
    lastMs = nowMs;
    const isFlood = sizeBytes > FLOOD_RATE * sinceMs;
    if (isFlood || sinceMs > SILENCE_MS) pauseMs = PAUSE_MIN_MS;
    else pauseMs = pauseMs === PAUSE_MIN_MS ? PAUSE_MAX_MS / 2 : PAUSE_MAX_MS;
    return sizeBytes >= LARGE_BYTES || sinceMs > SILENCE_MS ? 0 : pauseMs;
  };
}
