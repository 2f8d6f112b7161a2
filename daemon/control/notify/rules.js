import { escapeRegExp } from '../../../lib/shared/escape-reg-exp.js';

/** @import { NotifySetting } from '../../../lib/shared/settings/notify-keys.js' */
/** @import { Desired } from '../state/desired.js' */
/** @import { Rule } from './reconcile.js' */

/**
 * @param {NotifySetting[]} settings  Of the home.
 * @param {Desired['apps']} apps
 * @returns {Map<string, Rule[]>}  By receiver. A receiver that is named twice is one receiver.
 */
export function collectRules(settings, apps) {
  /** @type {Map<string, Rule[]>} */
  const rules = new Map();
  const add = (/** @type {Rule} */ rule) => rules.set(rule.to, [...(rules.get(rule.to) ?? []), rule]);
  for (const { name, apps: names, ...options } of settings)
    add({
      ...options,
      apps: names,
      source: name,
      isOfApp: false,
      appliesTo: matchNames(names),
      // The manager is not an app, so a list of apps leaves it out.
      hasManager: names.length === 0,
    });
  for (const { spec } of apps)
    for (const options of spec.notify ?? [])
      add({
        ...options,
        apps: [spec.name],
        source: spec.name,
        isOfApp: true,
        appliesTo: (app) => app === spec.name,
        hasManager: false,
      });
  return rules;
}

/**
 * @param {string[]} names  * stands for any characters. Empty: all apps.
 * @returns {(app: string) => boolean}
 */
function matchNames(names) {
  if (names.length === 0) return () => true;
  const patterns = names.map((name) => name.split('*').map(escapeRegExp).join('.*'));
  const pattern = new RegExp(`^(?:${patterns.join('|')})$`, 's');
  return (app) => pattern.test(app);
}
