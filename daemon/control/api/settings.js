import { describeSettings } from '../../../lib/shared/settings/settings.js';
import { flag, optional, readParams, text, withDefault } from './params.js';

/** @import { MethodBody } from './methods.js' */

/**
 * Settings of the whole home.
 * @satisfies {Record<string, MethodBody>}
 */
export const settings = {
  /** @type {MethodBody} */
  settings(desk) {
    return { settings: describeSettings(desk.parts.settings.given()) };
  },

  /** @type {MethodBody} */
  async set(desk, params) {
    const { key, value } = readParams({ key: text, value: text }, params);
    desk.parts.settings.set(key, value);
    const unserved =
      key === 'metrics.listen' ? await desk.exports.lookNow() : key === 'web.listen' ? await desk.web.lookNow() : null;
    return { settings: describeSettings(desk.parts.settings.given()), unserved };
  },

  /** @type {MethodBody} */
  unset(desk, params) {
    const { key } = readParams({ key: text }, params);
    return { wasSet: desk.parts.settings.unset(key), settings: describeSettings(desk.parts.settings.given()) };
  },
};

/**
 * The dashboard.
 * @satisfies {Record<string, MethodBody>}
 */
export const web = {
  /** @type {MethodBody} */
  async web(desk, params) {
    const { isOff, ...wish } = readParams(
      {
        isOff: withDefault(flag, false),
        listen: optional(text),
        mayAct: optional(flag),
        allowRemote: optional(flag),
        isNewToken: withDefault(flag, false),
      },
      params,
    );
    if (isOff) return { isOn: false, ...(await desk.web.end()) };
    return desk.web.begin(wish);
  },
};
