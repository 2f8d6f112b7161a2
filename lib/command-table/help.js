import { ELSEWHERE, elsewhere } from '../commands/elsewhere.js';
import { JSON_OPTION, load } from './row.js';

/** What helps people along. @type {import('./row.js').Command[]} */
export const HELP = [
  {
    name: 'doctor', brief: 'look for what makes trouble here, and tell what to do', help: 'look for what is known to make trouble here, and tell what to do', options: [JSON_OPTION],
    load: load(() => import('../commands/doctor.js'), 'doctor', async () => (await import('../render/doctor.js')).renderDoctor),
  },
  {
    name: 'report', help: 'print what somebody who is asked for help wants to know', options: [JSON_OPTION],
    load: load(() => import('../commands/report.js'), 'report', async () => (await import('../render/doctor.js')).renderReport),
  },
  {
    name: 'slist', aliases: ['sysinfos'], help: 'print what is known of this machine', options: [['-t, --tree', 'for the eye, as a tree'], JSON_OPTION],
    load: async () => {
      const [{ doctor }, { renderMachine }] = await Promise.all([import('../commands/doctor.js'), import('../render/machine.js')]);
      return { run: async (context) => ({ ...(await doctor(context)), exitStatus: 0 }), render: renderMachine, json: ({ facts }) => facts };
    },
  },
  {
    name: 'examples', help: 'print command lines for every day',
    load: async () => {
      const { renderExamples } = await import('../render/examples.js');
      return { run: async () => ({}), render: renderExamples };
    },
  },
  {
    name: 'completion', words: '<what> [shell]', brief: 'complete commands, options and apps with the TAB key', help: 'complete commands, options and apps with the TAB key: install, uninstall, or print for bash, zsh or fish',
    examples: ['nclust completion install', 'nclust completion zsh > ~/.zfunc/_nclust'],
    load: load(() => import('../commands/completion.js'), 'completion', async () => ({ text }) => text),
  },
  ...Object.keys(ELSEWHERE).map(toElsewhere),
];

/**
 * Scripts and fingers that know them are told what to do; the help does not list them.
 * @param {string} name
 * @returns {import('./row.js').Command}
 */
function toElsewhere(name) {
  return {
    name, words: '[words...]', help: `There is no such command in nclust. ${ELSEWHERE[/** @type {keyof typeof ELSEWHERE} */ (name)]}`, isHidden: true,
    load: async () => ({ run: elsewhere(/** @type {keyof typeof ELSEWHERE} */ (name)), render: () => '' }),
  };
}
