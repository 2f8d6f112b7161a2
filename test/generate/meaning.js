/** @import { Attribute } from '../../lib/config/options/schema.js' */

/**
 * What an attribute means, in one sentence and without what the other columns say.
 * @param {Attribute} row
 */
export function meaningOf({ help, meaning = help }) {
  return meaning.replace(/ \(default(: [^)]*)?\)/, '').replace(/; may be given several times/, '');
}
