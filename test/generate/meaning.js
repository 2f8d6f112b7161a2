/** Returns the meaning in one sentence, without facts that other columns show. */
export function meaningOf({ help, meaning = help }) {
  return meaning.replace(/ \(default(: [^)]*)?\)/, '').replace(/; may be given several times/, '');
}
