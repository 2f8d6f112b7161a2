import { checkReach, removeFiles, runCommands, writeFiles } from '../boot/install.js';
import { USER_UNITS } from '../boot/service-plan.js';
import { resolveIntent, needsRoot, sudoLine } from '../boot/service.js';

/** @import { Context } from '../cli/session/context.js' */

/**
 * @typedef {object} Startup
 * @property {string} platform
 * @property {string} service
 * @property {'installed' | 'removed' | 'shown' | 'needs root'} done
 * @property {{ path: string, text: string }[]} files
 * @property {string[]} commands
 * @property {string | null} next  The next step for the user: a command line if root is needed,
 *   otherwise a sentence. Null: no step.
 * @property {number} [exitStatus]
 */

/**
 * @param {Context} context
 * @param {string[]} words  The platform.
 * @param {Record<string, any>} options
 * @returns {Promise<Startup>}
 */
export async function startup(context, [word], options) {
  const intent = resolveIntent(word, options, context);
  const { plan, launcher, platform, name, whose } = intent;
  const files = [launcher, plan.file].map(({ path, text }) => ({ path, text }));
  const shown = {
    platform,
    service: name,
    files,
    commands: plan.enable.map((command) => command.join(' ')),
    next: plan.next,
  };
  if (options.print || options.dryRun) return { ...shown, done: 'shown' };
  if (needsRoot(intent)) {
    const ownWay = USER_UNITS.includes(platform)
      ? ` Without root, there is: nclust startup ${platform} --user-unit`
      : '';
    context.printUnlessJson(
      `${platform} was found. Root has to install the service "${name}": run the command below.${ownWay}`,
    );
    return { ...shown, done: 'needs root', next: sudoLine('startup', intent, options), exitStatus: 1 };
  }
  checkReach(intent.node, intent.main, whose);
  writeFiles([launcher, plan.file], whose);
  runCommands(plan.enable, { env: context.env });
  context.printUnlessJson(
    `"${name}" starts the manager of "${whose.user}" (${whose.home}) at boot, with the apps that ` +
      `should run then; you do not need to save the list.`,
  );
  const { SUDO_USER } = context.env;
  if (SUDO_USER && SUDO_USER !== whose.user && options.user === undefined)
    context.printUnlessJson(
      `For the apps of "${SUDO_USER}" instead: nclust unstartup, then: sudo nclust startup -u ${SUDO_USER}`,
    );
  if (plan.next) context.printUnlessJson(plan.next);
  return { ...shown, done: 'installed' };
}

/**
 * Removes the service. The manager and its apps keep running.
 * @param {Context} context
 * @param {string[]} words  The platform.
 * @param {Record<string, any>} options
 * @returns {Promise<Startup>}
 */
export async function unstartup(context, [word], options) {
  const intent = resolveIntent(word, options, context);
  const { plan, launcher, platform, name, whose } = intent;
  const commands = [...plan.disable, ['rm', plan.file.path], ['rm', launcher.path], ...plan.forget].map((command) =>
    command.join(' '),
  );
  /** @type {Omit<Startup, 'done'>} */
  const shown = { platform, service: name, files: [], commands, next: null };
  if (options.print || options.dryRun) return { ...shown, done: 'shown' };
  if (needsRoot(intent)) {
    context.printUnlessJson(`Root has to remove the service "${name}": run the command below.`);
    return { ...shown, done: 'needs root', next: sudoLine('unstartup', intent, options), exitStatus: 1 };
  }
  runCommands(plan.disable, { env: context.env, mayFail: true });
  removeFiles([plan.file, launcher], whose);
  runCommands(plan.forget, { env: context.env });
  context.printUnlessJson(
    `"${name}" was removed. The manager and its apps keep running, but do not start at boot any more.`,
  );
  return { ...shown, done: 'removed' };
}

/** @param {Startup} startup */
export function renderStartup({ done, files, commands, next }) {
  if (done === 'needs root') return `${next}\n`;
  if (done !== 'shown') return '';
  const texts = files.map(({ path, text }) => `# ${path}\n${text}`);
  return `${[...texts, `# then\n${commands.map((command) => `# ${command}\n`).join('')}`].join('\n')}`;
}
