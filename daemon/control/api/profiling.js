import { oneOf, readParams, text, toggle, wholeUpTo, withDefault } from './params.js';

/** @import { MethodBody } from './methods.js' */

const kind = oneOf(['cpu', 'heap', 'heap-sampling']);

const SPAN_MAX_MS = 3_600_000;
const LOOK_MS = 200;
const LOOK_MAX_MS = 10_000;

/**
 * These methods are rarely used, so their code is loaded on the first request.
 * @satisfies {Record<string, MethodBody>}
 */
export const profilingMethods = {
  /** @type {MethodBody} */
  async profile(context, params, client) {
    const question = readParams(
      { target: text, kind, durationMs: withDefault(wholeUpTo(SPAN_MAX_MS), 0), file: text },
      params,
    );
    const { takeProfile } = await import('../profiling/profile.js');
    return takeProfile(context, question, client);
  },

  /** @type {MethodBody} */
  async stack(context, params) {
    const question = readParams({ target: text, durationMs: withDefault(wholeUpTo(LOOK_MAX_MS), LOOK_MS) }, params);
    const { sampleStack } = await import('../profiling/profile.js');
    return sampleStack(context, question);
  },

  /** @type {MethodBody} */
  async openInspector(context, params, client) {
    const question = readParams({ target: text, isOver: toggle }, params);
    const { openInspector } = await import('../profiling/inspector.js');
    return openInspector(context, question, client);
  },
};
