const NAMES = ['#484f58', '#ff7b72', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#c9d1d9'];

/**
 * @param {string} text  With escape codes for colours, as tmux prints a pane.
 * @returns {string}
 */
export function terminalPage(text) {
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `<div>${spansOf(line)}&#8203;</div>`);
  return `<!doctype html><meta charset="utf-8"><style>
    body {
      margin: 0; background: #0d1117; color: #c9d1d9; padding: 14px 18px; display: inline-block;
      font: 13px/17px "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace;
    }
    div { white-space: pre; height: 17px; }
  </style>${lines.join('')}`;
}

function spansOf(line) {
  let style = { fg: null, bg: null, bold: false, dim: false, inverse: false };
  return line
    .split(/(\u001b\[[\d;]*m)/)
    .map((part) => {
      const codes = /^\u001b\[([\d;]*)m$/.exec(part);
      if (!codes)
        return part === ''
          ? ''
          : `<span style="${cssOf(style)}">${part.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</span>`;
      style = worn(style, codes[1].split(';').map(Number));
      return '';
    })
    .join('');
}

function worn(style, codes) {
  let now = { ...style };
  for (const code of codes) {
    if (code === 0) now = plain();
    else if (code === 1) now.bold = true;
    else if (code === 2) now.dim = true;
    else if (code === 7) now.inverse = true;
    else if (code === 22) Object.assign(now, { bold: false, dim: false });
    else if (code === 27) now.inverse = false;
    else if (code >= 30 && code <= 37) now.fg = NAMES[code - 30];
    else if (code >= 90 && code <= 97) now.fg = code === 90 ? '#8b949e' : NAMES[code - 90];
    else if (code === 39) now.fg = null;
    else if (code >= 40 && code <= 47) now.bg = NAMES[code - 40];
    else if (code === 49) now.bg = null;
  }
  return now;
}

function plain() {
  return {
    fg: null,
    bg: null,
    bold: false,
    dim: false,
    inverse: false,
  };
}

function cssOf({ fg, bg, bold, dim, inverse }) {
  const [ink, paper] = inverse ? [bg ?? '#0d1117', fg ?? '#c9d1d9'] : [fg ?? 'inherit', bg];
  return [
    `color:${ink};`,
    paper ? `background:${paper};` : '',
    bold ? 'font-weight:bold;' : '',
    dim ? 'opacity:.65;' : '',
  ].join('');
}
