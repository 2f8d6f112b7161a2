import { formatAgo, formatCount } from '../figures/format.js';
import { renderColumns } from '../render/table.js';
import { toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { formatDuration } from '../shared/units.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { View } from '../render/list.js' */
/** @import { Cell } from '../render/table.js' */
/** @import { NotifyResult, ShownReceiver } from '../shared/settings/notify-keys.js' */

/**
 * @typedef {object} Notified
 * @property {ShownReceiver[]} [receivers]
 * @property {NotifyResult[]} [results]  Of test messages.
 * @property {number} [exitStatus]
 */

/**
 * @param {Context} context
 * @param {string[]} words  "list" or "test", then names.
 * @returns {Promise<Notified>}
 */
export async function notify(context, [what, ...names]) {
  if (what !== 'list' && what !== 'test')
    throw new NclustError('ERR_NCLUST_USAGE', `nclust notify cannot "${what}"; accepted: list, test.`, {
      hint: 'To set a receiver: nclust set notify.ops https://example.com/hook',
    });
  const client = await context.manager();
  if (what === 'list') return client.request('notify');
  /** @type {{ results: NotifyResult[] }} */
  const { results } = await client.request('notifyTest', names.length > 0 ? { names } : {});
  return { results, exitStatus: results.some(({ problem }) => problem !== null) ? 1 : 0 };
}

/** @param {Notified} data */
export function notifyData({ receivers, results }) {
  return receivers ?? results;
}

/**
 * @param {Notified} data
 * @param {View} view
 */
export function renderNotify({ receivers, results }, { paint, nowMs }) {
  if (receivers?.length === 0)
    return 'No receiver is set. To set one: nclust set notify.ops https://example.com/hook\n';
  /** @type {Cell[][]} */
  const rows = receivers ? receivers.flatMap((one) => receiverRows(one, nowMs)) : (results ?? []).map(resultRow);
  return renderColumns(rows, { paint })
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * @param {NotifyResult} result
 * @returns {Cell[]}
 */
function resultRow({ receiver, names, problem }) {
  return [
    problem === null ? { text: 'sent', style: 'green' } : { text: 'failed', style: 'red' },
    toOneLine(names.join(', ')),
    toOneLine(receiver),
    toOneLine(problem ?? ''),
  ];
}

/**
 * @param {ShownReceiver} shown
 * @param {number} nowMs
 * @returns {Cell[][]}  One for each place that names it.
 */
function receiverRows({ receiver, rules, waiting, dropped, sentMs, problem }, nowMs) {
  const state = [
    sentMs === null ? 'nothing sent yet' : `last sent ${formatAgo(sentMs, nowMs)}`,
    ...(waiting > 0 ? [`${formatCount(waiting, 'message')} waiting`] : []),
    ...(dropped > 0 ? [`${formatCount(dropped, 'message')} given up`] : []),
    ...(problem === null ? [] : [problem]),
  ].join('; ');
  return rules.map(({ source, isOfApp, level, apps, afterMs, repeatMs }, at) => {
    const options = [
      level === 'bad' ? 'bad only' : 'all levels',
      ...(isOfApp ? [] : [apps.length === 0 ? 'all apps' : `apps ${apps.join(', ')}`]),
      ...(afterMs > 0 ? [`after ${formatDuration(afterMs)}`] : []),
      ...(repeatMs > 0 ? [`repeated every ${formatDuration(repeatMs)}`] : []),
    ].join(', ');
    return [
      toOneLine(isOfApp ? `app ${source}` : `notify.${source}`),
      toOneLine(receiver),
      { text: toOneLine(options), style: 'grey' },
      { text: at === 0 ? toOneLine(state) : '', style: problem === null ? null : 'red' },
    ];
  });
}
