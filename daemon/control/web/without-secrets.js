/** What of a spec a page is told. Whatever is added to specs is not told before it stands here. */
const SPEC_FIELDS = [
  'kind', 'instances', 'autorestart', 'maxRestarts', 'restartDelayMs', 'backoffMs', 'minUptimeMs', 'killTimeoutMs', 'stopSignal', 'waitReady', 'listenTimeoutMs',
  'scheduling', 'maxSurge', 'maxUnavailable', 'rollbackWindowMs', 'metrics', 'maxMemoryBytes', 'cronRestart',
];

/**
 * An answer without variables, secrets, and places that may hold a password.
 * @template T
 * @param {T} answer
 * @returns {T}
 */
export function withoutSecrets(answer) {
  const { slots, notices } = /** @type {{slots?: Record<string, any>[], notices?: string[]}} */ (answer ?? {});
  return Array.isArray(slots) ? { ...answer, slots: slots.map(shown), ...(notices ? { notices: notices.map(shownNotice) } : {}) } : answer;
}

/** Of addresses and commands in it only the beginning: users, passwords and keys stand behind that. @param {string} notice */
function shownNotice(notice) {
  return notice.replace(/"exec:.*" \(/s, '"exec" (').replace(/(https?:\/\/)([^\s"/?#]*@)?([^\s"?#]*)[^\s"]*/gi, '$1$3');
}

/** @param {Record<string, any>} slot */
function shown({ effectiveEnv: _, spec, shipping, axm, ...rest }) {
  return {
    ...rest,
    ...(spec ? { spec: Object.fromEntries(SPEC_FIELDS.map((key) => [key, spec[key]])) } : {}),
    ...(axm ? { axm: { actions: axm.actions, monitor: axm.monitor } } : {}),
    ...(shipping ? { shipping: shipping.map(shownTarget) } : {}),
  };
}

/** A command may have a password in it. @param {{target: string}} one */
function shownTarget(one) {
  return { ...one, target: one.target.startsWith('exec:') ? 'exec' : one.target };
}
