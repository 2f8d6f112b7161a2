/**
 * @typedef {object} Kind
 * @property {'cpu'|'heap'|'heap-sampling'} word  What the manager calls it.
 * @property {string} ending  Of the file, by which Chrome knows it.
 * @property {'Profiler'|'HeapProfiler'|''} domain  Of the inspector.
 * @property {string} start  Empty: it is of one moment.
 * @property {string} stop
 * @property {string} panel  Of Chrome's developer tools.
 */

/** What can be taken of a worker. @type {Record<'cpu'|'heap'|'heapSampling', Kind>} */
export const KINDS = {
  cpu: { word: 'cpu', ending: 'cpuprofile', domain: 'Profiler', start: 'start', stop: 'stop', panel: 'Performance' },
  heap: { word: 'heap', ending: 'heapsnapshot', domain: '', start: '', stop: '', panel: 'Memory' },
  heapSampling: { word: 'heap-sampling', ending: 'heapprofile', domain: 'HeapProfiler', start: 'startSampling', stop: 'stopSampling', panel: 'Memory' },
};
