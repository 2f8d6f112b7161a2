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
 * @returns {string}  If the script is a shell command, only its program.
 */
export function shortScript(script, interpreterArgs) {
  if (interpreterArgs[0] !== '-c') return script;
  const [program, ...more] = script.trim().split(/\s+/);
  return more.length === 0 ? program : `${program.includes('=') ? '' : `${program} `}…`;
}

/**
 * @param {string} argument
 * @returns {string}  An option loses its value. Any other word becomes "…".
 */
export function shortArgument(argument) {
  const [name, long] = /^(?:(--[\w-]+)=?|-\w$)/.exec(argument) ?? ['…'];
  return long && long !== argument ? `${long}=…` : name;
}
