import { NclustError } from '../../../lib/shared/errors.js';
import { listSeats } from '../state/registry.js';

/** @import { SystemLimits } from '../../../lib/shared/host/system-limits.js' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { DesiredApp, Change } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

// Lower bounds, so that we refuse only what is certain to fail. Measured with Node.js 20 to 26.

/** A lower bound: an idle keeper has 21 descriptors open. */
const KEEPER_FILES = 16;
/** For each instance, the keeper opens two pipes for output. A Node.js app also needs a channel. */
const FILES = { node: 3, exec: 2 };
/** In fork mode, the keeper also opens a pipe for the standard input. */
const INPUT = { fork: 1, cluster: 0 };
/** Node.js needs 6 threads: 4 are V8's pool. With fewer threads it hangs before the first line. */
const TASKS = { node: 6, exec: 1 };
const NAMES_POOL = /v8[-_]pool[-_]size/;
const MANAGER_TASKS = 2 * TASKS.node;

/** @typedef {{ name: string, spec: AppSpec, count: number }} Load */

/**
 * Throws ERR_NCLUST_PREFLIGHT if the system has no room for the processes after the change.
 * @template {Change} C
 * @param {C} change
 * @param {object} o
 * @param {string} o.what
 * @param {Registry} o.registry
 * @param {SystemLimits} o.limits
 * @returns {C}
 */
export function assertFits(change, { what, registry, limits }) {
  const loads = change.desired.apps
    .map((app) => ({ name: app.spec.name, spec: app.spec, count: countProcesses(app, change, registry) }))
    .filter(({ count }) => count > 0);
  const changed = [
    ...new Set(
      change.desired.apps
        .filter((app) => app.slots.some(({ id }) => change.up.some((one) => one.id === id)))
        .map(({ spec }) => spec.name),
    ),
  ];
  const fault = changed.length > 0 ? findFault(loads, limits) : null;
  if (!fault) return change;
  throw new NclustError(
    'ERR_NCLUST_PREFLIGHT',
    `${what} of "${changed.join('", "')}" was refused: ${fault.message}. Nothing was changed.`,
    { hint: fault.hint, data: { name: changed[0] } },
  );
}

/**
 * @param {Load[]} loads
 * @param {SystemLimits} limits
 */
function findFault(loads, limits) {
  const instances = loads.reduce((sum, { count }) => sum + count, 0);
  const files =
    KEEPER_FILES + loads.reduce((sum, { spec, count }) => sum + count * (FILES[spec.kind] + INPUT[spec.mode]), 0);
  const tasks = MANAGER_TASKS + loads.reduce((sum, { spec, count }) => sum + count * readTasks(spec), 0);
  const those = `${instances} ${instances === 1 ? 'instance' : 'instances'} at once`;
  if (files > limits.files)
    return {
      message:
        `with ${those}, the manager needs at least ${files} open files, but may have ${limits.files} ` + `(ulimit -n)`,
      hint:
        'Raise the limit, stop the manager with "nclust kill" and start it again under that limit; or ' +
        'use fewer instances.',
    };
  if (tasks > limits.tasks)
    return {
      message:
        `${those} need at least ${tasks} processes and threads, but the control group may have ` +
        `${limits.tasks} (${limits.tasksFile})`,
      hint:
        'Raise the limit of the container or service (docker run --pids-limit, TasksMax= of systemd), ' +
        'or use fewer instances.',
    };
  return null;
}

/**
 * Counts the instances that exist at the same time. If a reload starts new instances beside the old
 * instances, at least one slot has two instances at a time. With a rollback window, all reloaded
 * slots have two instances.
 * @param {DesiredApp} app
 * @param {Change} change
 * @param {Registry} registry
 */
function countProcesses({ spec, slots, rollout }, { up }, registry) {
  const serving = new Set(
    listSeats(registry, spec.name)
      .filter(({ life }) => life.state === 'up')
      .map(({ id }) => id),
  );
  const begun = new Set(up.map(({ id }) => id));
  const wanted = slots.filter(({ id, want }) => want === 'up' && (serving.has(id) || begun.has(id)));
  const twice = wanted.filter(({ id }) => serving.has(id) && begun.has(id)).length;
  const isBeside = rollout.isGuarded === true && spec.mode === 'cluster' && rollout.maxUnavailable === 0;
  if (!isBeside) return wanted.length;
  return wanted.length + (rollout.windowMs ? twice : Math.min(1, twice));
}

/**
 * If the user sets the size of V8's thread pool, the lower bound is one thread.
 * @param {AppSpec} spec
 */
function readTasks({ kind, interpreterArgs, env }) {
  return kind === 'node' && ![...interpreterArgs, env.NODE_OPTIONS ?? ''].some((text) => NAMES_POOL.test(text))
    ? TASKS.node
    : TASKS.exec;
}
