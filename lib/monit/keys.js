/** @typedef {{ name: string, text?: string }} Key  `text`: the typed or pasted text. */

/** Key names by the characters after "ESC [" or "ESC O". @type {Record<string, string>} */
const SEQUENCES = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  '1~': 'home',
  '7~': 'home',
  '4~': 'end',
  '8~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '3~': 'delete',
  M: 'enter',
};

/** @type {Record<string, string>} */
const CONTROLS = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'quit',
  '\u001a': 'suspend',
  '\u000c': 'redraw',
  '\u0015': 'clear',
  '\u0017': 'clear',
  '\u0006': 'pagedown',
  '\u0002': 'pageup',
};

const PASTE_BEGIN = '\u001b[200~';
const PASTE_END = '\u001b[201~';

/** If a paste is longer and still has no end mark, drop it. */
const PASTE_MAX_CHARS = 64 * 1024;

/**
 * Waits for the rest of an escape sequence, because the sequence may arrive in parts, for example
 * over ssh.
 * @returns {{ push: (text: string) => Key[], flush: () => Key[], isWaiting: () => boolean }}
 *   `isWaiting`: the rest of an escape sequence is missing. flush() stops waiting for this rest.
 *   Neither applies to a paste.
 */
export function createKeyReader() {
  let rest = '';

  /** @param {boolean} isLast */
  function read(isLast) {
    /** @type {Key[]} */
    const keys = [];
    while (rest !== '') {
      const taken = takeKey(rest, isLast);
      if (!taken) break;
      rest = rest.slice(taken.length);
      if (taken.key) keys.push(taken.key);
    }
    return keys;
  }

  return {
    push(text) {
      rest += text;
      return read(false);
    },
    flush: () => read(!rest.startsWith(PASTE_BEGIN)),
    isWaiting: () => rest !== '' && !rest.startsWith(PASTE_BEGIN),
  };
}

/**
 * @param {string} text
 * @param {boolean} isLast  The rest of a sequence will not arrive.
 * @returns {{ length: number, key: Key | null } | null}  Null: the rest of the sequence is missing.
 */
function takeKey(text, isLast) {
  if (text[0] !== '\u001b') {
    const character = String.fromCodePoint(/** @type {number} */ (text.codePointAt(0)));
    const name = CONTROLS[character];
    if (name) return { length: 1, key: { name } };
    return { length: character.length, key: character < ' ' ? null : { name: character, text: character } };
  }
  if (text.startsWith(PASTE_BEGIN)) return takePaste(text);
  const whole = /^\u001b(?:\[([0-9;?]*[ -/]*[@-~])|O([@-~]))/.exec(text);
  if (whole) return { length: whole[0].length, key: named(whole[1] ?? whole[2]) };
  if (/^\u001b(?:\[[0-9;?]*[ -/]*|O)?$/.test(text) && !isLast) return null;
  return { length: 1, key: { name: 'escape' } };
}

/** @param {string} text */
function takePaste(text) {
  const end = text.indexOf(PASTE_END);
  if (end === -1) return text.length > PASTE_MAX_CHARS ? { length: text.length, key: null } : null;
  return { length: end + PASTE_END.length, key: { name: 'paste', text: text.slice(PASTE_BEGIN.length, end) } };
}

/**
 * @param {string} sequence  Modifiers are ignored: "1;5A" is the same key as "A".
 * @returns {Key | null}  Null: the sequence is not known.
 */
function named(sequence) {
  const name =
    SEQUENCES[sequence] ??
    SEQUENCES[sequence.replace(/^1;\d+(?=[A-Z]$)/, '')] ??
    SEQUENCES[sequence.replace(/;\d+(?=~$)/, '')];
  return name ? { name } : null;
}
