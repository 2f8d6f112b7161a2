// Leaves out parts of commands and addresses where people put passwords and keys.

/**
 * @param {string} target
 * @returns {string}  "exec" in place of a command.
 */
export function shortTarget(target) {
  return target.startsWith('exec:') ? 'exec' : target;
}

/**
 * @param {string} sentence
 * @returns {string}  With "exec", and of an address only the scheme, the host and the port.
 */
export function shortNotice(sentence) {
  return sentence
    .replace(/"exec:.*" \(/s, '"exec" (')
    .replace(/(https?:\/\/)(?:[^\s"/?#]*@)?([^\s"/?#]*)[^\s"]*/gi, '$1$2');
}

/**
 * @param {string} script
 * @param {string[]} interpreterArgs
 * @returns {string}  Of a command only the program.
 */
export function shortScript(script, interpreterArgs) {
  if (interpreterArgs[0] !== '-c') return script;
  const [program, ...more] = script.trim().split(/\s+/);
  return more.length === 0 ? program : `${program.includes('=') ? '' : `${program} `}…`;
}

/**
 * @param {string} argument
 * @returns {string}  The name of an option, without its value; "…" in place of any other word.
 */
export function shortArgument(argument) {
  const [name, long] = /^(?:(--[\w-]+)=?|-\w$)/.exec(argument) ?? ['…'];
  return long && long !== argument ? `${long}=…` : name;
}
