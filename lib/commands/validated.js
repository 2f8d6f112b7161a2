import { oneLine } from '../render/text.js';

/**
 * @param {import('./validate.js').Validated} data
 * @returns {string}
 */
export function renderValidated({ file, apps, environments, warnings }) {
  const count = `${apps.length} ${apps.length === 1 ? 'app' : 'apps'}`;
  const verdict = warnings.length === 0 ? 'nothing is wrong' : `nothing is wrong, ${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}`;
  const rows = apps.map(({ name, script, mode, instances }) => `  ${oneLine(name)}: ${oneLine(script)} (${mode}${mode === 'cluster' || instances !== 1 ? `, instances: ${instances}` : ''})`);
  return [`${file ?? 'stdin'}: ${count}, ${verdict}`, ...rows, ...(environments.length > 0 ? [`  deploy: ${environments.map(oneLine).join(', ')}`] : []), ''].join('\n');
}
