import { helpLines, KEY_COLUMNS } from './help.js';
import { put } from './screen.js';

/**
 * @param {import('./screen.js').Screen} screen
 * @param {import('./layout.js').Box} box
 * @param {import('./state.js').State} state
 */
export function drawHelp(screen, box, { helpTop }) {
  for (const [at, { keys, does }] of helpLines(box.width).slice(helpTop, helpTop + box.height).entries()) {
    const y = box.y + at;
    put(screen, does === '' ? { x: 1, y, text: keys, style: 'cyan' } : { x: 3, y, text: keys, style: 'bold' });
    put(screen, { x: 3 + KEY_COLUMNS, y, text: does });
  }
}
