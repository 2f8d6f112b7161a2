import { constants } from 'node:os';

/**
 * @param {string | number} value  "SIGTERM", "term" or 15.
 * @returns {string | null}  Null if this system does not have the signal.
 */
export function signalName(value) {
  const text = String(value).trim().toUpperCase();
  const signals = Object.entries(constants.signals);
  if (/^\d+$/.test(text)) return signals.find(([, number]) => number === Number(text))?.[0] ?? null;
  const name = text.startsWith('SIG') ? text : `SIG${text}`;
  return signals.some(([known]) => known === name) ? name : null;
}
