// The address contains the token only until the page reads it. Then the tab stores the token, so
// that it survives a reload.

/** @typedef {{ app?: string, worker?: number }} Route  Neither field: the table. */

const KEPT = 'nclust-token';

/**
 * @param {string} fragment  With or without "#".
 * @returns {{ token: string | null, place: Route }}
 */
export function readFragment(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const worker = given.get('worker');
  const app = given.get('app');
  const place = worker !== null && /^\d+$/.test(worker) ? { worker: Number(worker) } : app ? { app } : {};
  return { token: given.get('token'), place };
}

/** @param {Route} place */
export function writeFragment({ app, worker }) {
  if (worker !== undefined) return `#worker=${worker}`;
  return app === undefined ? '#' : `#app=${encodeURIComponent(app)}`;
}

/** @param {{ location: Location, history: History, sessionStorage: Storage }} window */
export function openRoute({ location, history, sessionStorage }) {
  const { token, place } = readFragment(location.hash);
  if (token) {
    sessionStorage.setItem(KEPT, token);
    history.replaceState(null, '', writeFragment(place));
  }
  return { token: token ?? sessionStorage.getItem(KEPT), isNewToken: Boolean(token), place };
}

/** @param {Storage} storage */
export function forgetToken(storage) {
  storage.removeItem(KEPT);
}
