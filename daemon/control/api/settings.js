import { describeSettings } from '../../../lib/shared/settings/rules.js';
import { flag, optional, readParams, text, texts, toggle } from './params.js';

/** @import { MethodBody } from './methods.js' */

/** @satisfies {Record<string, MethodBody>} */
export const settings = {
  /** @type {MethodBody} */
  settings(context) {
    return { settings: describeSettings(context.parts.settings.entries()) };
  },

  /** @type {MethodBody} */
  async set(context, params) {
    const { key, value } = readParams({ key: text, value: text }, params);
    context.parts.settings.set(key, value);
    const unserved =
      key === 'metrics.listen'
        ? await context.exports.applyNow()
        : key === 'web.listen'
          ? await context.web.syncNow()
          : null;
    return { settings: describeSettings(context.parts.settings.entries()), unserved };
  },

  /** @type {MethodBody} */
  unset(context, params) {
    const { key } = readParams({ key: text }, params);
    return { wasSet: context.parts.settings.unset(key), settings: describeSettings(context.parts.settings.entries()) };
  },
};

/** @satisfies {Record<string, MethodBody>} */
export const web = {
  /** @type {MethodBody} */
  async web(context, params) {
    const { isOff, ...options } = readParams(
      {
        isOff: toggle,
        listen: optional(text),
        mayAct: optional(flag),
        allowRemote: optional(flag),
        isNewToken: toggle,
      },
      params,
    );
    if (isOff) return { isOn: false, ...(await context.web.end()) };
    return context.web.begin(options);
  },
};

/** @satisfies {Record<string, MethodBody>} */
export const notify = {
  /** @type {MethodBody} */
  notify(context) {
    return { receivers: context.notify.list() };
  },

  /** @type {MethodBody} */
  async notifyTest(context, params) {
    const { names } = readParams({ names: optional(texts) }, params);
    return { results: await context.notify.test(names ?? []) };
  },
};
