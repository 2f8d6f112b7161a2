// A control of another installation that got ready may still hang. So it is asked for a while whether its event loop runs.

const ASK_MS = 1_000;
/** A control that is still there, and answers, when so many questions were asked is proven: after 10 s. */
const QUESTIONS = 10;
/** So many without an answer: it hangs. Counted and not measured, because a machine that was stopped meanwhile has asked nothing. */
const UNANSWERED = 5;

/**
 * @param {object} o
 * @param {() => void} o.ask
 * @param {() => void} o.onProven
 * @param {() => void} o.onSilent
 * @returns {{ answered: () => void, end: () => void }}  One of the two listeners is called, once, unless it is ended before.
 */
export function watchTrial({ ask, onProven, onSilent }) {
  let asked = 0;
  let unanswered = 0;
  const look = () => {
    if (unanswered === UNANSWERED) {
      end();
      return onSilent();
    }
    asked += 1;
    unanswered += 1;
    ask();
  };
  const timer = setInterval(look, ASK_MS);
  const end = () => clearInterval(timer);
  return {
    answered() {
      unanswered = 0;
      if (asked < QUESTIONS) return;
      end();
      onProven();
    },
    end,
  };
}
