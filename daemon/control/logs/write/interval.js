/** @typedef {'hourly'|'daily'|'weekly'|'never'} LogInterval */

/**
 * When a log file that was begun at a time is to be rotated: with the next full hour, midnight, or midnight before Monday, of the local time.
 * @param {LogInterval} interval
 * @param {number} startedAtMs
 * @returns {number}  In ms; Infinity for never.
 */
export function rotationDue(interval, startedAtMs) {
  const at = new Date(startedAtMs);
  if (interval === 'hourly') return at.setHours(at.getHours() + 1, 0, 0, 0);
  if (interval === 'daily') return at.setHours(24, 0, 0, 0);
  // Sunday is 0, and a week begins with Monday.
  if (interval === 'weekly') return at.setHours(24 * (7 - ((at.getDay() + 6) % 7)), 0, 0, 0);
  return Infinity;
}
