import { renderList } from '../render/list.js';

/**
 * @param {import('./import.js').Imported} imported
 * @param {import('../render/list.js').View} view
 * @returns {string}
 */
export function renderImported({ isDryRun, apps, all }, view) {
  if (!isDryRun) return all.length > 0 ? renderList({ slots: all }, view) : '';
  return apps.map((app) => `${describe(app)}\n`).join('');
}

/** @param {import('./import.js').Imported['apps'][number]} app */
function describe({ name, mode, instances, stopped, script, args, variables }) {
  const many = instances === 1 ? mode : `${mode}, ${instances} instances`;
  const state = stopped === 0 ? '' : stopped === instances ? ', stopped' : `, ${stopped} of them stopped`;
  const words = args.length > 0 ? ` ${args.map((word) => (/\s/.test(word) ? JSON.stringify(word) : word)).join(' ')}` : '';
  return `${name} (${many}${state}): ${script}${words}${variables.length > 0 ? `  with ${variables.join(', ')}` : ''}`;
}
