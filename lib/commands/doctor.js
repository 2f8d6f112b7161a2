import { readEnd } from '../client/spawn-keeper.js';
import { gatherFacts } from '../doctor/facts.js';
import { findings } from '../doctor/findings.js';
import { homePaths } from '../shared/paths.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Facts } from '../doctor/facts.js' */
/** @import { Finding } from '../doctor/findings.js' */

/**
 * @param {Context} context
 * @returns {Promise<{ facts: Facts, findings: Finding[], exitStatus: number }>}
 */
export async function doctor(context) {
  return examine(await gatherFacts(context));
}

/** @param {Facts} facts */
function examine(facts) {
  const found = findings(facts);
  return { facts, findings: found, exitStatus: found.some(({ level }) => level === 'bad') ? 1 : 0 };
}

const LOG_BYTES = 8 * 1024;

/**
 * The report does not contain variables, arguments or output of apps, because users publish it.
 * @param {Context} context
 * @returns {Promise<Awaited<ReturnType<typeof doctor>> & { log: string[] }>}  `log`: the last lines
 *   of nclust.log.
 */
export async function report(context) {
  const gathered = await gatherFacts(context);
  const troubles = gathered.troubles.map((trouble) => ({ ...trouble, evidence: null }));
  const { facts, findings } = examine({ ...gathered, troubles });
  const { text, isWhole } = readEnd(homePaths(context.home).daemonLog, LOG_BYTES) ?? { text: '', isWhole: true };
  const log = text.split('\n').filter(Boolean);
  return { facts, findings, log: isWhole ? log : log.slice(1), exitStatus: 0 };
}
