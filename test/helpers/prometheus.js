// This reader is strict: it also rejects texts that "promtool check metrics" complains about.

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const TYPES = ['counter', 'gauge', 'histogram'];
const SUFFIXES = { counter: [''], gauge: [''], histogram: ['_bucket', '_sum', '_count'] };
/**
 * PREFIXED, TIMES and OTHERS match units that are not base units. SHORT matches abbreviations of
 * units. Sources: the linter of client_golang and https://prometheus.io/docs/practices/naming/
 */
const PREFIXED =
  /(?:pico|nano|micro|milli|centi|deci|deca|hecto|kilo|kibi|mega|mibi|mebi|giga|gibi|tera|tebi|peta|pebi)\w+/;
const TIMES = /millis|minutes?|hours?|days?|weeks?/;
const OTHERS = /bits?|percent|inch(?:es)?|yards?|miles?|fahrenheit|kelvins?|ergs?|calories|ounces?|pounds?/;
const SHORT = /s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d/;
const WRONG_UNITS = new RegExp(`_(${[PREFIXED, TIMES, OTHERS, SHORT].map(({ source }) => source).join('|')})(_|$)`);
const TYPE_IN_NAME = /_(counter|gauge|histogram|summary)(_|$)/;
const CAMEL = /[a-z][A-Z]/;

/**
 * @typedef {{ labels: Record<string, string>, name: string, value: number }} ReadSample
 * @typedef {{ name: string, type: string, help: string, samples: ReadSample[] }} ReadFamily
 */

/**
 * Reads version 0.0.4 of the text format.
 * @param {string} text
 * @returns {Map<string, ReadFamily>}  Throws at the first error.
 */
export function readPrometheus(text) {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  /** @type {Map<string, ReadFamily>} */
  const families = new Map();
  /** @type {ReadFamily | null} */
  let current = null;
  const seen = new Set();
  for (const [at, line] of text.slice(0, -1).split('\n').entries()) {
    const fail = (/** @type {string} */ why) => {
      throw new Error(`line ${at + 1}: ${why}: ${line}`);
    };
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (comment) {
      const [, word, name, rest] = comment;
      if (word === 'HELP') {
        if (families.has(name)) fail('the family is told of twice');
        if (/\\(?![\\n])/.test(rest) || rest === '') fail('the help is empty or wrongly escaped');
        current = { name, type: '', help: rest, samples: [] };
        families.set(name, current);
      } else {
        if (!current || current.name !== name || current.type !== '') fail('TYPE does not follow its HELP');
        if (!TYPES.includes(rest)) fail('no such type');
        Object.assign(current ?? {}, { type: rest });
        checkName(name, rest, fail);
      }
      continue;
    }
    const { name, labels, value } = readSample(line, fail);
    if (
      !current?.type ||
      !SUFFIXES[/** @type {'counter'} */ (current.type)].some((suffix) => `${current?.name}${suffix}` === name)
    )
      fail('the sample is of another family');
    const key = `${name}{${Object.entries(labels)
      .sort()
      .map((pair) => JSON.stringify(pair))
      .join()}}`;
    if (seen.has(key)) fail('the series is there twice');
    seen.add(key);
    if (current?.type === 'counter' && !(value >= 0)) fail('a counter below zero');
    current?.samples.push({ name, labels, value });
  }
  for (const family of families.values()) {
    if (family.samples.length === 0) throw new Error(`${family.name} has no sample`);
    if (family.type === 'histogram') checkHistogram(family);
  }
  return families;
}

/**
 * @param {string} name
 * @param {string} type
 * @param {(why: string) => never} fail
 */
function checkName(name, type, fail) {
  if (!NAME.test(name) || name.includes(':')) fail('no name');
  if ((type === 'counter') !== name.endsWith('_total')) fail('counters end with _total, and nothing else does');
  if (/_(count|sum|bucket|info_info)$/.test(name)) fail('a reserved ending');
  if (WRONG_UNITS.test(name)) fail('not a base unit');
  if (TYPE_IN_NAME.test(name)) fail('the type is in the name');
  if (CAMEL.test(name)) fail('not in snake_case');
}

/**
 * @param {string} line
 * @param {(why: string) => never} fail
 * @returns {ReadSample}
 */
function readSample(line, fail) {
  const head = /^([^\s{]+)(\{)?/.exec(line) ?? fail('no sample');
  const name = head[1];
  if (!NAME.test(name)) fail('no name');
  let at = head[0].length;
  /** @type {Record<string, string>} */
  const labels = {};
  while (head[2] && line[at] !== '}') {
    const pair = /^([^=]+)="((?:[^"\\\n]|\\["\\n])*)"(,|(?=\}))/.exec(line.slice(at)) ?? fail('no label');
    if (!LABEL.test(pair[1]) || pair[1].startsWith('__')) fail('no name of a label');
    if (CAMEL.test(pair[1])) fail('a label not in snake_case');
    if (pair[1] === 'quantile' || (pair[1] === 'le' && !name.endsWith('_bucket')))
      fail('a label that belongs to another type');
    if (Object.hasOwn(labels, pair[1])) fail('a label twice');
    labels[pair[1]] = pair[2].replace(/\\(.)/g, (_, sign) => (sign === 'n' ? '\n' : sign));
    at += pair[0].length;
  }
  if (head[2]) at += 1;
  const value = /^ (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.exec(line.slice(at)) ?? fail('no value');
  return { name, labels, value: value[1] === '+Inf' ? Infinity : Number(value[1]) };
}

/** @param {ReadFamily} family */
function checkHistogram({ name, samples }) {
  const keyOf = (/** @type {Record<string, string>} */ { le: _, ...labels }) =>
    JSON.stringify(Object.entries(labels).sort());
  for (const key of new Set(samples.map(({ labels }) => keyOf(labels)))) {
    const own = samples.filter(({ labels }) => keyOf(labels) === key);
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Infinity : Number(labels.le)));
    const count = own.find((sample) => sample.name === `${name}_count`)?.value;
    if (bounds.at(-1) !== Infinity || bounds.some((bound, at) => at > 0 && !(bound > bounds[at - 1])))
      throw new Error(`${name}${key}: the bounds do not grow to +Inf`);
    if (buckets.some(({ value }, at) => at > 0 && value < buckets[at - 1].value))
      throw new Error(`${name}${key}: the buckets are not cumulative`);
    if (count !== buckets.at(-1)?.value || !own.some((sample) => sample.name === `${name}_sum`))
      throw new Error(`${name}${key}: count or sum is missing or wrong`);
  }
}
