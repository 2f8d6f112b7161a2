import { readdirSync, readFileSync } from 'node:fs';

/**
 * Dead processes whose parent has to collect them.
 * @param {number} parent
 * @param {string} [proc]
 * @returns {number[]}  Their pids. None where there is no /proc.
 */
export function zombiesOf(parent, proc = '/proc') {
  return pidsIn(proc).filter((pid) => {
    const stat = statOf(`${proc}/${pid}/stat`);
    // The name in parentheses may hold spaces and parentheses itself.
    const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' && Number(ppid) === parent;
  });
}

/** @param {string} proc */
function pidsIn(proc) {
  try {
    return readdirSync(proc).filter((entry) => /^\d+$/.test(entry)).map(Number);
  } catch {
    return [];
  }
}

/** @param {string} file */
function statOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Gone between the two looks.
  }
}
