/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Core } from '../keeper-link/tell.js' */
/** @import { AppWish } from '../state/desired.js' */
/** @import { Values } from '../spawn/secrets.js' */
/** @import { Instance, Seat } from '../state/registry.js' */

/**
 * Has an instance wait for its secrets, if there are any that are not at hand. One whose secrets cannot be had is refused, as if the system had done it.
 * @param {Core} core
 * @param {{app: AppWish, seat: Seat, spec: AppSpec, instance: Instance}} who
 * @param {(secrets: Values) => void} start  Called at once or later, or never.
 */
export function withSecrets(core, { app, seat, spec, instance }, start) {
  if (Object.keys(spec.secrets).length === 0) return start({});
  const { secrets } = core.parts.environment;
  const known = secrets.known(app, seat.generation);
  if (known) return start(known);
  const { link } = core;
  const { instanceId } = instance;
  instance.isAwaitingSecrets = true;
  // It may have been stopped meanwhile, or the keeper has died and everything was asked for anew.
  const isAwaited = () => core.link === link && core.world.instances.get(instanceId) === instance;
  secrets.need(app, seat.generation, spec).then(
    (values) => {
      if (!isAwaited()) return;
      instance.isAwaitingSecrets = false;
      start(values);
    },
    (error) => {
      if (isAwaited()) core.dispatch({ type: 'refused', instanceId, message: `${error.code}: ${error.message}` });
    },
  );
}
