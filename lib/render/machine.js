/** @typedef {import('../doctor/facts.js').Facts} Facts */

/**
 * @param {{facts: Facts}} data
 * @param {import('./list.js').View} view
 * @returns {string}  Every fact about the machine: as JSON on one line, or with --tree one a line.
 */
export function renderMachine({ facts }, { options }) {
  const { slots: _, ...machine } = facts;
  return options.tree ? branch(machine, '') : `${JSON.stringify(machine)}\n`;
}

/** @param {object} value @param {string} indent @returns {string} */
function branch(value, indent) {
  return Object.entries(value).map(([key, one]) => {
    if (typeof one !== 'object' || one === null) return `${indent}${key}: ${one}\n`;
    return `${indent}${key}:\n${branch(one, `${indent}  `)}`;
  }).join('');
}
