// A control that hangs while it boots would never end, and nobody would start the next one.

const LOOK_MS = 1_000;
/** Generous: it takes half a second, and on a machine that has far too much to do ten. Counted and not measured, as in trial.js. */
const LOOKS = 30;

/**
 * @param {() => void} onLate  Called once, unless it is ended before.
 * @returns {() => void}  Ends it.
 */
export function watchBoot(onLate) {
  let left = LOOKS;
  const end = () => clearInterval(timer);
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    end();
    onLate();
  }, LOOK_MS);
  return end;
}
