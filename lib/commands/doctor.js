import { gatherFacts } from '../doctor/facts.js';
import { findings } from '../doctor/findings.js';

/**
 * Looks at this machine and this home for what is known to make trouble. Changes nothing.
 * @param {import('../cli/context.js').Context} context
 * @returns {Promise<{facts: import('../doctor/facts.js').Facts, findings: import('../doctor/findings.js').Finding[], exitStatus: number}>}  exitStatus is 1 when something is bad.
 */
export async function doctor(context) {
  const facts = await gatherFacts(context);
  const found = findings(facts);
  return { facts, findings: found, exitStatus: found.some(({ level }) => level === 'bad') ? 1 : 0 };
}
