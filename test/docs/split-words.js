/** Splits a command line of a page as a shell would. */
export function splitWords(text) {
  return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_whole, one, other) => one ?? other),
  );
}
