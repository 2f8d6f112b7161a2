import { removeFiles, runCommands } from '../boot/install.js';
import { intend, needsRoot, sudoLine } from '../boot/service.js';

/**
 * Takes the service away. The manager and its apps go on; they are not started at boot any more.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The platform.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./startup.js').Startup>}  Throws ERR_NCLUST_USAGE and ERR_NCLUST_STARTUP.
 */
export async function unstartup(context, [word], options) {
  const intent = intend(word, options, context);
  const { plan, launcher, platform, name, whose } = intent;
  const commands = [...plan.disable, ['rm', plan.file.path], ['rm', launcher.path], ...plan.forget].map((command) => command.join(' '));
  /** @type {Omit<import('./startup.js').Startup, 'done'>} */
  const shown = { platform, service: name, files: [], commands, next: null };
  if (options.print || options.dryRun) return { ...shown, done: 'shown' };
  if (needsRoot(intent)) {
    if (!options.json) context.talk(`Root has to remove the service "${name}": run the command below.`);
    return { ...shown, done: 'needs root', next: sudoLine('unstartup', intent, options), exitStatus: 1 };
  }
  runCommands(plan.disable, { env: context.env, mayFail: true });
  removeFiles([plan.file, launcher], whose);
  runCommands(plan.forget, { env: context.env });
  if (!options.json) context.talk(`"${name}" is removed. What runs goes on, and is not started at boot any more.`);
  return { ...shown, done: 'removed' };
}
