import { join } from 'node:path';
import { DAEMON_NODE_ARGS, DAEMON_NODE_ENV } from '../shared/host/daemon-node.js';
import { shellQuote } from '../shared/shell-quote.js';

const NODE_MIN = 20;

/**
 * Folders of version managers. A star stands for the version.
 * @type {[variable: string, byDefault: string, below: string][]}
 */
const VERSION_FOLDERS = [
  ['NVM_DIR', '.nvm', 'versions/node/*/bin/node'],
  ['FNM_DIR', '.local/share/fnm', 'node-versions/*/installation/bin/node'],
  ['', '.fnm', 'node-versions/*/installation/bin/node'],
  ['', 'Library/Application Support/fnm', 'node-versions/*/installation/bin/node'],
  ['VOLTA_HOME', '.volta', 'tools/image/node/*/bin/node'],
  ['ASDF_DATA_DIR', '.asdf', 'installs/nodejs/*/bin/node'],
  ['MISE_DATA_DIR', '.local/share/mise', 'installs/node/*/bin/node'],
];

/**
 * The script searches for Node.js, because `node` may be gone when the service starts.
 * @param {object} o
 * @param {string} o.home  NCLUST_HOME.
 * @param {string} o.userHome
 * @param {string} o.node  The Node.js that runs nclust now.
 * @param {string} o.main  bin/nclust.js.
 * @param {Record<string, string | undefined>} o.env  Contains folders of version managers.
 */
export function launcherScript({ home, userHome, node, main, env }) {
  const folders = VERSION_FOLDERS.map(([variable, byDefault, below]) => {
    const [before, after] = below.split('*');
    return `${shellQuote(`${(variable && env[variable]) || join(userHome, byDefault)}/${before}`)}*${after}`;
  });
  const about =
    'Written by "nclust startup"; "nclust unstartup" removes it. ' +
    'Runs nclust with the Node.js that ran that command. If that is gone, with the newest version';
  const missing = 'nclust is no longer installed; install it, then run: nclust startup';
  return `#!/bin/sh
# ${about}
# from ${NODE_MIN} on of nvm, fnm, volta, asdf and mise, else the one in PATH.
node=${shellQuote(node)}
main=${shellQuote(main)}
NCLUST_HOME=${shellQuote(home)}
[ -n "\${HOME:-}" ] || HOME=${shellQuote(userHome)}
PATH="\${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin"

# Prints the file with the highest version, ${NODE_MIN} or later.
newest() {
  best='' best_number=0
  for file in "$@"; do
    [ -x "$file" ] || continue
    version=\${file%/bin/node}
    version=\${version%/installation}
    version=\${version##*/}
    number=$(echo "\${version#v}" | awk -F. '/^[0-9]+[.][0-9]+[.][0-9]+$/ { print $1 * 1000000 + $2 * 1000 + $3 }')
    [ "\${number:-0}" -ge ${NODE_MIN}000000 ] && [ "$number" -gt "$best_number" ] && best=$file best_number=$number
  done
  [ -n "$best" ] && echo "$best"
}

if [ ! -x "$node" ]; then
  node=$(newest ${folders.join(' \\\n    ')}) || node=$(command -v node) || node=''
  if [ -z "$node" ]; then
    echo "nclust: Node.js ${NODE_MIN} or later is no longer installed; install it, then run: nclust startup" >&2
    exit 1
  fi
fi
# When a Node.js version is removed, its global packages are removed, too.
if [ ! -f "$main" ]; then
  beside=\${node%/bin/node}/lib/node_modules/nclust/bin/nclust.js
  if [ -f "$beside" ]; then
    main=$beside
  else
    main=$(command -v nclust) || { echo "${missing}" >&2; exit 1; }
  fi
fi
PATH="\${node%/*}:$PATH"
export PATH HOME NCLUST_HOME
case "$1" in
  daemon)
    export ${Object.entries(DAEMON_NODE_ENV)
      .map(([key, value]) => `${key}=${value}`)
      .join(' ')}
    exec "$node" ${DAEMON_NODE_ARGS.join(' ')} "$main" "$@" ;;
esac
exec "$node" "$main" "$@"
`;
}
