/**
 * @param {import('./startup.js').Startup} startup
 * @returns {string}
 */
export function renderStartup({ done, files, commands, next }) {
  if (done === 'needs root') return `${next}\n`;
  if (done !== 'shown') return '';
  const texts = files.map(({ path, text }) => `# ${path}\n${text}`);
  return `${[...texts, `# then\n${commands.map((command) => `# ${command}\n`).join('')}`].join('\n')}`;
}
