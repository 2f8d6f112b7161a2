import { basename } from 'node:path';
import { OPTIONS_OF } from '../app-spec/table.js';
import { candidates, SCRIPTS, SHELLS } from '../completion/scripts.js';
import { asOwnerOf, install, findPlace, uninstall } from '../completion/install.js';
import { toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { SETTINGS } from '../shared/settings/rules.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Command } from '../cli/table/row.js' */
/** @import { Shell, Vocabulary } from '../completion/scripts.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/**
 * The scripts call `nclust completion words` on every TAB.
 * @param {Context} context
 * @param {string[]} words
 * @param {string[]} args  The command line, for `words`.
 * @param {Command[]} commands
 */
export async function completion(context, [what, shell], args, commands) {
  if (what === 'words') return { text: lines(await candidates(args, buildVocabulary(context, commands))) };
  if (isShell(what)) return { text: SCRIPTS[what] };
  if (what !== 'install' && what !== 'uninstall') throw usage(what);
  const chosen = shell ?? basename(context.env.SHELL ?? '');
  if (!isShell(chosen)) throw usage(chosen);
  const file = findPlace(chosen, context.env);
  const home = context.env.HOME ?? '';
  if (what === 'uninstall')
    return {
      text: asOwnerOf(home, () => uninstall(chosen, file))
        ? `Removed from ${file}\n`
        : `${file} contained nothing of nclust\n`,
    };
  asOwnerOf(home, () => install(chosen, file));
  return { text: `Written to ${file}; completion works in every new ${chosen}.\n` };
}

/**
 * @param {Context} context
 * @param {Command[]} commands
 * @returns {Vocabulary}
 */
function buildVocabulary(context, commands) {
  return {
    commands: commands.filter(({ isHidden }) => !isHidden),
    flagsOf: ({ options = [], takesOptionsOf }) => [
      ...OPTIONS_OF[takesOptionsOf ?? 'none'].flatMap(({ flags }) => flags ?? []),
      ...options.map(([flags]) => flags),
      '-h, --help',
    ],
    apps: async () => {
      const client = await context.runningManager();
      const { slots } = client ? await client.request('list') : { slots: [] };
      return slots
        .flatMap((/** @type {SlotStatus} */ { name, namespace, id }) => [
          name,
          ...(namespace === 'default' ? [] : [namespace]),
          String(id),
        ])
        .filter((/** @type {string} */ word) => word === toOneLine(word));
    },
    settings: () => Object.keys(SETTINGS),
  };
}

/** @param {string[]} words */
function lines(words) {
  return words.map((word) => `${word}\n`).join('');
}

/**
 * @param {string | undefined} word
 * @returns {word is Shell}
 */
function isShell(word) {
  return SHELLS.includes(/** @type {Shell} */ (word));
}

/** @param {string | undefined} word */
function usage(word) {
  return new NclustError(
    'ERR_NCLUST_USAGE',
    `${word ? `completion does not know "${word}"` : 'completion needs the name of a shell'}; ` +
      `accepted: install, uninstall, ${SHELLS.join(', ')}.`,
    { hint: 'For example: nclust completion install' },
  );
}
