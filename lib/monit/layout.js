/** @import { Size } from './screen.js' */

/** @typedef {{ x: number, y: number, width: number, height: number }} Box  Height 0: not shown. */

/**
 * `table`, `panel` and `second` include their headings.
 * @typedef {object} Boxes
 * @property {Box} header
 * @property {Box} footer
 * @property {Box} page  Full-screen logs or the help.
 * @property {Box} table
 * @property {Box} title
 * @property {Box} numbers
 * @property {Box} charts
 * @property {Box} panel
 * @property {Box} second
 */

/** On terminals of at least this width, the details are beside the table, not below it. */
const WIDE_COLUMNS = 140;

/**
 * @param {Size} size
 * @returns {Boxes}
 */
export function layOut({ columns, rows }) {
  const body = Math.max(0, rows - 2);
  const frame = {
    header: { x: 0, y: 0, width: columns, height: 1 },
    footer: { x: 0, y: rows - 1, width: columns, height: 1 },
    page: { x: 0, y: 1, width: columns, height: body },
  };
  if (columns < WIDE_COLUMNS) {
    const table = Math.min(body, Math.max(5, Math.floor(body * 0.42)));
    return {
      ...frame,
      table: { x: 0, y: 1, width: columns, height: table },
      ...detail({ x: 0, y: 1 + table, width: columns, height: body - table }),
    };
  }
  const table = Math.min(120, Math.floor(columns * 0.55));
  return {
    ...frame,
    table: { x: 0, y: 1, width: table, height: body },
    ...detail({ x: table + 1, y: 1, width: columns - table - 1, height: body }),
  };
}

/**
 * @param {Box} box
 * @returns {Pick<Boxes, 'title' | 'numbers' | 'charts' | 'panel' | 'second'>}
 */
function detail({ x, y, width, height }) {
  let top = y;
  const take = (/** @type {number} */ wanted) => {
    const taken = Math.max(0, Math.min(wanted, y + height - top));
    const box = { x, y: top, width, height: taken };
    top += taken;
    return box;
  };
  const title = take(1);
  const numbers = take(height >= 30 ? 2 : height >= 11 ? 1 : 0);
  const charts = take(height >= 30 ? 14 : height >= 20 ? 8 : 2);
  const rest = y + height - top;
  const second = rest >= 9 ? Math.floor(rest / 3) : 0;
  return { title, numbers, charts, panel: take(rest - second), second: take(second) };
}

/**
 * Keeps the selected row in the middle if there are enough rows on both sides.
 * @param {number} height
 * @param {number} selected
 * @param {number} count
 */
export function firstVisible(height, selected, count) {
  return Math.max(0, Math.min(selected - Math.floor(height / 2), count - height));
}
