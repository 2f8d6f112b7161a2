import { KeeperLost } from '../keeper-link/link.js';
import { tell } from '../keeper-link/tell.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Seat } from '../state/registry.js' */

// The door through which connections come to an instance.

/** Whether its event loop runs. @param {Core} core @param {Seat} seat */
export function ask(core, seat) {
  request(core, seat, 'ask', { timeoutMs: seat.spec?.listenTimeoutMs ?? 0 }, 'answered');
}

/** From now on connections come to it. @param {Core} core @param {Seat} seat */
export function admit(core, seat) {
  request(core, seat, 'admit', {}, 'admitted');
}

/** No connection comes to it any more; it stays, so that it can be taken back. @param {Core} core @param {Seat} seat */
export function park(core, seat) {
  const { instanceId } = seat;
  const instance = core.world.instances.get(instanceId ?? '');
  if (instance) instance.isParked = true;
  tell(core, 'park', { instanceId });
}

/** It is taken back. @param {Core} core @param {Seat} seat */
export function unpark(core, seat) {
  request(core, seat, 'unpark', {}, 'admitted');
}

/**
 * Asks the keeper for something that an instance has to do, and tells the seat how it went. An instance that has ended says so by itself.
 * @param {Core} core
 * @param {Seat} seat
 * @param {'ask'|'admit'|'unpark'} verb
 * @param {object} more
 * @param {'answered'|'admitted'} done
 */
function request({ link, parts, dispatch }, { instanceId }, verb, more, done) {
  if (!instanceId) return;
  link?.request(verb, { instanceId, ...more }).then(
    () => dispatch({ type: done, instanceId }),
    (error) => {
      if (error instanceof KeeperLost || error.code === 'ESRCH') return;
      // An earlier version of the keeper has no gates: there everything is let in that lives.
      if (error.code !== 'ENOSYS') return dispatch({ type: 'silent', instanceId });
      parts.journal('keeper-refused', { verb, params: { instanceId }, message: error.message });
      return dispatch({ type: done, instanceId });
    },
  );
}
