/** Its value; null: it was removed. @typedef {[name: string, value: string|null]} Variable */

/**
 * Remembers how an environment is.
 * @param {Record<string, string|undefined>} env
 * @returns {() => Variable[]}  Those that are another way by then.
 */
export function noteVariables(env) {
  const before = { ...env };
  return () => {
    const names = new Set([...Object.keys(before), ...Object.keys(env)]);
    return [...names].filter((name) => before[name] !== env[name]).map((name) => [name, env[name] ?? null]);
  };
}
