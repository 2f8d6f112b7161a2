import { flag, optional, readParams, text, withDefault } from './params.js';

/** @import { MethodBody } from './methods.js' */

/** The dashboard. @satisfies {Record<string, MethodBody>} */
export const web = {
  /** @type {MethodBody} */
  async web(desk, params) {
    const { isOff, ...wish } = readParams({ isOff: withDefault(flag, false), listen: optional(text), mayAct: optional(flag), allowRemote: optional(flag), isNewToken: withDefault(flag, false) }, params);
    if (isOff) return { isOn: false, ...(await desk.web.end()) };
    return desk.web.begin(wish);
  },
};
