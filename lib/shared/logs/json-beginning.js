const SPACE = /[ \t\r\n]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const SCALAR = /[\w.+-]+/y;

/** What does not matter inside an object or a list. */
const FILLING = /[^"{}[\]]+/y;

/**
 * Reads as much as there is of a JSON object whose end is not known.
 * @param {string} text  From its "{".
 * @param {readonly string[]} keys  The fields that are looked for, of the object itself.
 * @returns {Record<string, unknown>|null}  Those that are there as a whole, as far as they are texts, numbers and the like. Null when it is no beginning of an object.
 */
export function readBeginning(text, keys) {
  /** @type {Record<string, unknown>} */
  const record = {};
  const reader = createReader(text);
  if (reader.take('{') === null) return null;
  do {
    const key = reader.read(STRING);
    if (key === null || reader.take(':') === null) return reader.isAtEnd() ? record : null;
    const value = reader.value();
    if (value === null || reader.isAtEnd()) return reader.isAtEnd() ? record : null;
    const name = parsed(key);
    if (typeof name === 'string' && keys.includes(name)) record[name] = parsed(value);
  } while (reader.take(',') !== null);
  reader.take('}');
  return reader.isAtEnd() ? record : null;
}

/** @param {string} text */
function createReader(text) {
  let at = 0;

  /** @param {RegExp} pattern */
  function match(pattern) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  }

  /** @param {RegExp} pattern @returns {string|null}  Null: something else comes, or the text ends in the middle of it. */
  function read(pattern) {
    match(SPACE);
    const found = match(pattern);
    if (found === null && text[at] === '"') at = text.length;
    return found;
  }

  /** @param {string} sign */
  function take(sign) {
    match(SPACE);
    if (text[at] !== sign) return null;
    at += 1;
    return sign;
  }

  /** An object or a list. */
  function nested() {
    const from = at;
    let depth = 0;
    do {
      const sign = text[at];
      if (sign === '"') read(STRING);
      else if (match(FILLING) === null) {
        depth += sign === '{' || sign === '[' ? 1 : -1;
        at += 1;
      }
    } while (depth > 0 && at < text.length);
    return text.slice(from, at);
  }

  return {
    read,
    take,
    value() {
      match(SPACE);
      return text[at] === '{' || text[at] === '[' ? nested() : (read(STRING) ?? match(SCALAR));
    },
    isAtEnd() {
      match(SPACE);
      return at >= text.length;
    },
  };
}

/** @param {string} json */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null; // As good as a value that says nothing.
  }
}
