// Leaves out parts of commands and addresses where people put passwords and keys.

/**
 * @param {string} target
 * @returns {string}
 */
export function shortTarget(target) {
  return target.startsWith('exec:') ? 'exec' : target;
}

/**
 * @param {string} sentence
 * @returns {string}  Commands become "exec". Addresses keep only scheme, host and port.
 */
export function shortNotice(sentence) {
  return sentence
    .replace(/"exec:.*" \(/s, '"exec" (')
    .replace(/(https?:\/\/)(?:[^\s"/?#]*@)?([^\s"/?#]*)[^\s"]*/gi, '$1$2');
}

/**
 * @param {string} script
 * @param {string[]} interpreterArgs
 * @returns {string}  A shell command becomes its program and "…", or only "…" if its first word
 *   sets a variable. A shell command of one word stays unchanged.
 */
export function shortScript(script, interpreterArgs) {
  if (interpreterArgs[0] !== '-c') return script;
  const [program, ...more] = script.trim().split(/\s+/);
  return more.length === 0 ? program : `${program.includes('=') ? '' : `${program} `}…`;
}

/**
 * @param {string} argument
 * @returns {string}  "--name=value" becomes "--name=…". "--name" and "-n" stay unchanged. Any other
 *   argument becomes "…".
 */
export function shortArgument(argument) {
  const [name, long] = /^(?:(--[\w-]+)=?|-\w$)/.exec(argument) ?? ['…'];
  return long && long !== argument ? `${long}=…` : name;
}
