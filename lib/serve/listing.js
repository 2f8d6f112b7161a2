import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { locate } from './locate.js';
import { encodePath, isHidden } from './path.js';

/** @typedef {{name: string, isFolder: boolean, bytes: number, changedAtMs: number}} Entry */

/**
 * What is in a folder and would be sent when asked for: folders first, then files, by name.
 * @param {string} root
 * @param {string[]} segments
 * @returns {Promise<Entry[]>}
 */
export async function listFolder(root, segments) {
  const names = (await readdir(join(root, ...segments))).filter((name) => !isHidden(name) && !name.includes('\\'));
  /** @type {Entry[]} */
  const entries = [];
  // One after the other: a folder of 100,000 files must not open all of them at once.
  for (const name of names) {
    const found = await locate(root, [...segments, name]);
    if (found.type === 'nothing') continue;
    const facts = await stat(found.type === 'file' ? found.file : found.folder);
    entries.push({ name, isFolder: found.type === 'folder', bytes: facts.size, changedAtMs: facts.mtimeMs });
  }
  return entries.sort((a, b) => Number(b.isFolder) - Number(a.isFolder) || (a.name < b.name ? -1 : 1));
}

/**
 * @param {string[]} segments
 * @param {Entry[]} entries
 * @returns {string}  A page.
 */
export function renderListing(segments, entries) {
  const title = escapeHtml(`/${segments.map((segment) => `${segment}/`).join('')}`);
  const up = segments.length > 0 ? '<tr><td><a href="../">../</a></td><td></td><td></td></tr>\n' : '';
  const rows = entries.map(({ name, isFolder, bytes, changedAtMs }) => {
    const shown = isFolder ? `${name}/` : name;
    const link = `${encodePath([...segments, name])}${isFolder ? '/' : ''}`;
    return `<tr><td><a href="${escapeHtml(link)}">${escapeHtml(shown)}</a></td><td>${isFolder ? '' : bytes}</td><td>${new Date(changedAtMs).toISOString().slice(0, 16).replace('T', ' ')}</td></tr>\n`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>body{font:16px system-ui,sans-serif;margin:2em}td{padding:.1em 1.5em .1em 0}td:nth-child(2){text-align:right}</style></head>
<body><h1>${title}</h1>
<table>
${up}${rows.join('')}</table></body></html>
`;
}

/** @param {string} text */
export function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
