/**
 * Where a debugger gets in, and how.
 * @param {import('./inspect.js').Inspected} data
 * @returns {string}
 */
export function renderInspected({ slot: { id, name, pid }, url, was }) {
  const who = `"${name}" (id ${id}, pid ${pid})`;
  if (url === null) return was === null ? `The inspector of ${who} was not on.\n` : `The inspector of ${who} is off.\n`;
  return [
    was === null ? `The inspector of ${who} is on:` : `The inspector of ${who} was on already:`,
    `  ${url}`,
    `Connect with: node inspect ${new URL(url).host}`,
    `or in Chrome: chrome://inspect, with ${new URL(url).host} under "Configure"`,
    `Whoever can connect to it can run code in the process. End it with: nclust inspect --stop ${id}`,
    '',
  ].join('\n');
}
