import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { nodeUnderTest } from './sandbox.js';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** @import { Sandbox } from './sandbox.js' */

const BIN = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));

/** Returns null if tests on a real terminal are possible, or the reason why they are not. */
export function noTmux() {
  return spawnSync('tmux', ['-V']).status === 0 ? null : 'tmux is not installed';
}

let started = 0;

/**
 * @typedef {{ words: string[], columns: number, rows: number, env?: Record<string, string> }} Shown
 */

/**
 * The terminal is closed after the test.
 * @param {Sandbox} home
 * @param {Shown} o
 */
export function openTmux(home, o) {
  const screen = startTmux(home, o);
  onTestFinished(screen.close);
  return screen;
}

/**
 * The terminal is closed after the test.
 * @param {Sandbox} home
 * @param {{ columns: number, rows: number }} size
 * @param {Record<string, string>} [env]
 */
export function openMonit(home, size, env) {
  const screen = openTmux(home, { words: ['monit'], ...size, env });
  return {
    ...screen,
    /**
     * @param {string | RegExp} text
     * @param {{ deadlineMs?: number }} [o]
     */
    see: (text, o) =>
      home.waitFor(
        `"${text}" on the screen:\n`,
        () => {
          const shown = screen.text();
          if (typeof text === 'string' ? shown.includes(text) : text.test(shown)) return true;
          throw new Error(shown);
        },
        o,
      ),
    monitPid: () =>
      home.waitFor(
        'monit',
        () => home.processes().find(({ role, command }) => role === 'other' && / monit$/.test(command))?.pid,
      ),
  };
}

/**
 * The caller closes the terminal.
 * @param {Pick<Sandbox, 'home' | 'work' | 'env'>} home
 * @param {Shown} o
 */
export function startTmux(home, { words, columns, rows, env = {} }) {
  // Each server has a new socket, because a server that exits keeps its socket for a moment.
  const socket = join(home.work, `tmux-${(started += 1)}.sock`);
  // NCLUST_HOME is missing, because tmux must not count as a process of the home.
  const own = { PATH: home.env.PATH, HOME: home.env.HOME, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  const tmux = (/** @type {string[]} */ ...args) =>
    execFileSync('tmux', ['-u', '-S', socket, '-f', '/dev/null', ...args], { env: own, encoding: 'utf8' });
  const given = Object.entries({ NCLUST_HOME: home.home, ...env }).map(([name, value]) => `${name}=${quoted(value)}`);
  const command = [...given, nodeUnderTest(), BIN, ...words]
    .map((word) => (/^\w+=/.test(word) ? word : quoted(word)))
    .join(' ');
  const script = [
    'echo before',
    `env ${command}`,
    'echo "ended with $?"',
    // Prints the terminal modes after the command.
    'stty -a | tr ";" "\\n" | grep -o -e "-\\?icanon" -e "-\\?echo\\b"',
    'exec sleep 1000',
  ];
  tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), `sh -c ${quoted(script.join('; '))}`);
  return {
    text: () => tmux('capture-pane', '-p').replace(/[ \n]+$/, ''),
    painted: () => tmux('capture-pane', '-p', '-e'),
    /** @param {...string} keys  tmux's names: "Down", "Enter", "q". */
    press: (...keys) => void tmux('send-keys', ...keys),
    /** @param {string} text */
    type: (text) => void tmux('send-keys', '-l', text),
    /** @param {{ columns: number, rows: number }} size */
    resize: (size) => void tmux('resize-window', '-x', String(size.columns), '-y', String(size.rows)),
    /** Three flags (0 or 1): the alternate screen, the cursor, and line wrap. */
    modes: () => tmux('display-message', '-p', '#{alternate_on} #{cursor_flag} #{wrap_flag}').trim(),
    /**
     * Writes the output from now on to the file.
     * @param {string} file
     */
    record: (file) => void tmux('pipe-pane', `cat >> ${quoted(file)}`),
    hangUp: () => void tmux('kill-session'),
    pid: () => Number(tmux('display-message', '-p', '#{pane_pid}')),
    close: () => void spawnSync('tmux', ['-S', socket, 'kill-server']),
  };
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
