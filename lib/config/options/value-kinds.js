import { INSTANCES_FORMS } from '../../shared/host/cpus.js';
import { BYTES_FORMS, DURATION_FORMS } from '../../shared/units.js';
import * as readers from './readers.js';

/**
 * What a kind of value needs in a row: how it is read, what is accepted in words, and the same for an editor.
 * @typedef {object} ValueKind
 * @property {(value: any, where: string) => any} read
 * @property {string} accepted
 * @property {Record<string, unknown>} schema  A piece of JSON Schema.
 */

/** @satisfies {Record<string, ValueKind>} */
export const KINDS = {
  text: { read: readers.asText, accepted: readers.TEXT_FORMS, schema: { type: 'string' } },
  /** What people write without quotes in YAML. */
  word: { read: readers.asText, accepted: readers.TEXT_FORMS, schema: { type: ['string', 'number'] } },
  words: { read: readers.asWords, accepted: readers.WORDS_FORMS, schema: { type: ['string', 'array'], items: { type: ['string', 'number'] } } },
  flag: { read: readers.asFlag, accepted: readers.FLAG_FORMS, schema: { type: 'boolean' } },
  whole: { read: readers.asWhole, accepted: readers.WHOLE_FORMS, schema: { type: 'integer', minimum: 0 } },
  duration: { read: readers.asDuration, accepted: DURATION_FORMS, schema: { type: ['number', 'string'] } },
  signal: { read: readers.asSignal, accepted: readers.SIGNAL_FORMS, schema: { type: ['string', 'number'] } },
  exitCodes: { read: readers.asExitCodes, accepted: readers.EXIT_CODES_FORMS, schema: { type: ['array', 'integer', 'string'], items: { type: 'integer', minimum: 0, maximum: 255 } } },
  instances: { read: readers.asInstances, accepted: INSTANCES_FORMS, schema: { type: ['integer', 'string'] } },
};

/** What a size looks like to an editor. */
export const SIZE = { accepted: BYTES_FORMS, schema: { type: ['integer', 'string'] } };

/**
 * @param {string[]} words
 * @returns {ValueKind}
 */
export function wordsOf(words) {
  return { read: readers.oneOf(words), accepted: words.join(', '), schema: { enum: words } };
}
