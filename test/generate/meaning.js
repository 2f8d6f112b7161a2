/** In one sentence, without what other columns show. */
export function meaningOf({ help, meaning = help }) {
  return meaning.replace(/ \(default(: [^)]*)?\)/, '').replace(/; may be given several times/, '');
}
