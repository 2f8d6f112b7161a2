// Knows: the text of "nclust why": the troubles, the state in one line, and the timeline below.
// Must not: read a file or ask the manager. The dashboard page loads answer.js and fold.js too.
// Start at: renderWhy(), then explain() and foldEvents().
import { cutLines, renderColumns } from '../table.js';
import { toOneLine } from '../text.js';
import { clockTime, formatAgo } from '../../figures/format.js';
import { isAsked } from '../../shared/death-text.js';
import { statusStyle } from '../slots.js';
import { explain } from './answer.js';
import { addWords, troubleLines } from '../attention.js';
import { foldEvents } from './fold.js';

/** @import { Story } from '../../commands/why.js' */
/** @import { View } from '../list.js' */
/** @import { ShownStatus } from '../../shared/wire/protocol.js' */
/** @import { Paint } from '../paint.js' */

/** @typedef {import('../../commands/why.js').Stories} Why */

/**
 * @param {Why} data
 * @param {View} view
 */
export function renderWhy({ stories, ...o }, view) {
  return stories.map((story) => renderStory(story, o, view)).join('\n');
}

/**
 * @param {Why} data
 * @param {number} [nowMs]
 * @returns {object[]}  For --json.
 */
export function explainData({ stories, isRunning, sinceMs, lines }, nowMs = Date.now()) {
  return stories.map((story) => {
    const { status, text, next } = explain(story, { isRunning, nowMs });
    const events = story.events.filter(({ at }) => at >= sinceMs);
    const troubles = story.troubles.map((trouble) => addWords(trouble, story.slots.length));
    return {
      app: story.name,
      status,
      answer: text,
      next: troubles[0]?.next ?? next,
      troubles,
      waitingFor: describeWaiting(story),
      timeline: getLast(foldEvents(events), lines).map(({ style: _, ...line }) => line),
      events,
    };
  });
}

/**
 * @param {Story} story
 * @param {Omit<Why, 'stories'>} o
 * @param {View} view
 */
function renderStory(story, { isRunning, sinceMs, lines }, { paint, nowMs, columns }) {
  const answer = explain(story, { isRunning, nowMs });
  const timeline = foldEvents(story.events.filter(({ at }) => at >= sinceMs));
  const shown = getLast(timeline, lines);
  const left = timeline.length - shown.length;
  const rows = renderColumns(
    shown.map(({ at, text, style }) => [
      { text: clockTime(at, nowMs), style: 'dim' },
      { text: formatAgo(at, nowMs).padStart(8), style: 'dim' },
      { text, style },
    ]),
    { paint },
  ).map((line) => `  ${line}`);
  return `${[
    ...troubleLines(story.troubles, () => story.slots.length, { paint, nowMs, columns }),
    paint(statusStyle(/** @type {ShownStatus} */ (answer.status)), toOneLine(`${answer.text}.`)),
    ...(answer.next && story.troubles.length === 0 ? [`Next: ${toOneLine(answer.next)}`] : []),
    '',
    ...(left > 0
      ? [paint('dim', `  (${left} earlier: nclust why ${toOneLine(story.name)} --lines ${timeline.length})`)]
      : []),
    ...(timeline.length > 0 ? rows : [paint('dim', `  ${noEventsNote(story, { sinceMs, nowMs })}`)]),
    ...lastOutputLines(story, { nowMs, paint, columns }),
    ...describeWaiting(story).map(({ slot, what }) => `Instance ${slot} waits for ${toOneLine(what)}.`),
  ].join('\n')}\n`;
}

/**
 * @param {Story} story
 * @param {{ sinceMs: number, nowMs: number }} o
 */
function noEventsNote({ name, events }, { sinceMs, nowMs }) {
  if (sinceMs === 0 || events.length === 0) return 'The event log has no entry about it.';
  return `It has had no event since ${clockTime(sinceMs, nowMs)} (all: nclust why ${toOneLine(name)}).`;
}

/**
 * @param {Story} story
 * @param {{ nowMs: number, paint: Paint, columns: number | null }} o
 */
function lastOutputLines({ events }, { nowMs, paint, columns }) {
  const death = events.findLast((event) => event.type === 'died' && !isAsked(event));
  if (!death?.lines?.length) return [];
  const when = `${clockTime(death.at, nowMs)}, ${formatAgo(death.at, nowMs)}`;
  const lines = death.lines.map((/** @type {string} */ line) => `  ${toOneLine(line)}`);
  return [
    paint('bold', `Last output of instance ${death.slot} (${when})`),
    ...(columns === null ? lines : cutLines(lines, columns)),
  ];
}

/** @param {Story} story */
function describeWaiting({ slots }) {
  return slots.flatMap(({ slot, waitingFor }) => (waitingFor ? [{ slot, what: waitingFor }] : []));
}

/**
 * @template T
 * @param {T[]} all
 * @param {number} count
 */
function getLast(all, count) {
  return count === 0 ? [] : all.slice(-Math.min(count, all.length));
}
