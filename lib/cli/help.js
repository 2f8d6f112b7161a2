import { FIRST_OPTIONS, HEADINGS, OTHER_HEADINGS } from './table/headings.js';

/** @import { HelpConfiguration, Option } from 'commander' */
/** @import { Command as Row } from './table/row.js' */

/** A longer term gets its own line, so that it does not push all explanations to the right. */
const TERM_MAX = 26;

/** Width of an explanation in the list of commands on a terminal of 80 columns. */
const BRIEF_MAX = 62;

/** @type {HelpConfiguration} */
export const LAYOUT = {
  subcommandTerm: (command) => command.name(),
  padWidth(command, helper) {
    const terms = [
      ...helper.visibleOptions(command).map((option) => helper.optionTerm(option)),
      ...helper.visibleCommands(command).map((one) => helper.subcommandTerm(one)),
    ];
    return Math.max(...terms.map(({ length }) => length).filter((length) => length <= TERM_MAX));
  },
  formatItem(term, width, description, helper) {
    const indent = ' '.repeat(width + 4);
    const lines = helper
      .boxWrap(description, Math.max(30, (helper.helpWidth ?? 80) - indent.length))
      .split('\n')
      .join(`\n${indent}`);
    return term.length > width ? `  ${term}\n${indent}${lines}` : `  ${term.padEnd(width)}  ${lines}`;
  },
};

/**
 * @param {Row[]} rows
 * @returns {Row[]}  Hidden and unlisted commands come last.
 */
export function sortForHelp(rows) {
  const order = HEADINGS.flatMap(([, names]) => names);
  const findPlace = (/** @type {Row} */ { name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...rows].sort((a, b) => findPlace(a) - findPlace(b));
}

/** @param {string} name */
export function findHeading(name) {
  return HEADINGS.find(([, names]) => names.includes(name))?.[0] ?? 'More:';
}

/** @param {Row} row */
export function formatBrief({ help, brief = help, aliases = [] }) {
  const whole = `${brief} (${aliases.join(', ')})`;
  return aliases.length > 0 && whole.length <= BRIEF_MAX ? whole : brief;
}

/** @param {Row} row */
export function formatPage({ help, aliases = [] }) {
  return aliases.length > 0 ? `${help}\nAlso called: ${aliases.join(', ')}` : help;
}

export const HELP_HEADING = 'This command:';

/**
 * Options without a heading come first.
 * @param {Option[]} options
 */
export function groupByHeading(options) {
  const first = FIRST_OPTIONS.flatMap(([heading, names]) =>
    names.flatMap((name) => options.filter(({ long }) => long === name).map((option) => option.helpGroup(heading))),
  );
  const findPlace = (/** @type {Option} */ { helpGroupHeading = '' }) => OTHER_HEADINGS.indexOf(helpGroupHeading);
  const others = options.filter((option) => !first.includes(option));
  return [
    ...others.filter((option) => findPlace(option) === -1),
    ...first,
    ...others.filter((option) => findPlace(option) !== -1).sort((a, b) => findPlace(a) - findPlace(b)),
  ];
}

/**
 * Hides the options that few users need. Only `nclust help <command> --all` shows them.
 * @param {Option[]} options  As groupByHeading() returns them.
 */
export function hideRare(options) {
  return options.map((option) => (OTHER_HEADINGS.includes(option.helpGroupHeading ?? '') ? option.hideHelp() : option));
}

export const GENERAL_HELP = `
"nclust help <command>" explains one of them.
A target is an id, a name, a namespace, a script path, a /pattern/ on names, or
"all"; most commands take several. Times are milliseconds, or a number with s,
m, h or d. All files are in $NCLUST_HOME (default ~/.nclust).

Examples:
  nclust start app.js -i max      start one process per CPU
  nclust list                     see what runs
  nclust logs api                 follow its output
  nclust reload api               after a change, without losing a request
  nclust stop all                 stop everything, keep the list

Exit status: 0 done, 1 refused or failed, 2 usage, 3 the manager cannot be
reached, 130 Ctrl-C.
`;

export const SHORT_HELP = `Usage: nclust <command> [options]

  nclust start app.js -i max      start one process per CPU
  nclust list                     see what runs
  nclust logs api                 follow its output
  nclust describe api             its details, and why it last died
  nclust reload api               after a change, without losing a request
  nclust stop api                 stop it, keep it in the list

  nclust help                     every command
  nclust help <command>           all about one
`;
