import { expect, test } from 'vitest';
import { sourceFiles } from '../helpers/source-tree.js';

// Between two uses of a path, the user of an app can put a link in its place, if this user may
// write to a folder on the way. So code opens a file once and then uses the descriptor. The table
// lists the files that use node:fs twice with what may be the same path, or that change a mode, an
// owner or a time by path, and why no other user can exchange the file in between.

const HOME = 'in the home, which only its owner can enter';
const KERNEL = 'of the kernel';
const INSTALLED = 'of the installation';
const ONCE = 'opens each path once, and then uses the descriptor';
const OWN = 'acts with the rights of the app, at a path of the app';
const HARMLESS = 'first only asks, and the answer decides nothing about rights';

const TABLE = {
  'daemon/agent/listen-patch.cjs': [OWN, 'chmod stat'],
  'daemon/agent/loader.cjs': [INSTALLED, 'open readFile'],
  'daemon/agent/profile.cjs': [ONCE, 'open writeFile writeHeapSnapshot'],
  'daemon/control/journal/log-file.js': [HOME, 'lstat open rename stat'],
  'daemon/control/logs/manager-log.js': [HOME, 'open stat'],
  'daemon/control/logs/times/format.js': [HOME, 'open readFile'],
  'daemon/control/logs/times/times.js': [HOME, 'open rename stat'],
  'daemon/control/notify/queue-file.js': [HOME, 'open readFile rename'],
  'daemon/control/recovery/find-orphans.js': [KERNEL, 'lstat readFile stat'],
  'daemon/control/state/durable-file.js': [HOME, 'copyFile link open readFile rename stat writeFile'],
  'daemon/control/triggers/app-watch.js': [HARMLESS, 'readFile stat'],
  'daemon/keeper/home.js': [HOME, 'lstat lutimes stat'],
  'daemon/keeper/host/log.js': [HOME, 'open stat'],
  'daemon/keeper/host/unnamed-pipes.js': [HOME, 'open symlink'],
  'daemon/keeper/lock.js': [HOME, 'link stat writeFile'],
  'daemon/keeper/pipes.js': [HOME, 'exists open stat'],
  'daemon/keeper/sockets/unix-path.js': ['is called by withUid() only', 'chmod link lstat rename'],
  'lib/boot/install.js': ['a new file, as its owner or in a folder of root', 'open rename writeFile'],
  'lib/client/check-home.js': ['checks the folders on the way first', 'access chmod lstat stat'],
  'lib/commands/config.js': ['creates a new file only', 'exists stat writeFile'],
  'lib/commands/web.js': [HOME, 'exists writeFile'],
  'lib/completion/install.js': ['acts as the owner of HOME', 'exists open readFile rename stat writeFile'],
  'lib/config/find.js': [HARMLESS, 'readFile stat'],
  'lib/doctor/facts.js': [HARMLESS, 'exists readFile stat'],
  'lib/profile/output-file.js': [ONCE, 'lstat open stat writeFile'],
  'lib/serve/respond.js': [ONCE, 'open realpath'],
  'lib/shared/daemon/code-digest.js': [INSTALLED, 'readFile stat'],
  'lib/shared/daemon/files.js': ['named by callers in this table', 'readFile stat'],
  'lib/shared/daemon/home-folders.js': [KERNEL, 'lstat readFile'],
  'lib/shared/daemon/home-processes.js': [KERNEL, 'open realpath stat'],
  'lib/shared/daemon/oom-score.js': [KERNEL, 'readFile writeFile'],
  'lib/shared/event-log.js': [HOME, 'open readFile'],
  'lib/shared/host/as-user.js': ['is what goes along a path with the rights of a user', 'lstat open rename stat'],
  'lib/shared/host/replace-file.js': [HOME, 'open rename writeFile'],
  'lib/shared/host/user-path.js': ['opens each folder once', 'lstat open'],
  'lib/shared/settings/rules.js': [HOME, 'open readFile'],
};

const OPENS = 'appendFile copyFile createReadStream createWriteStream open readFile writeFile writeHeapSnapshot'.split(
  ' ',
);
const ASKS = 'access exists lstat realpath stat'.split(' ');
const MOVES = 'link rename symlink'.split(' ');
const CHANGES = 'chmod chown lchmod lchown lutimes truncate utimes'.split(' ');

/** The functions of lib/shared/daemon/files.js, and what they call. */
const OURS = { isFile: 'stat', isFolder: 'stat', namesIn: 'readdir', readIfThere: 'readFile', statIfThere: 'stat' };

/** The functions of node:fs that a file uses, also by files.js, and writeHeapSnapshot() of node:v8. */
function functionsOf(code) {
  const imported = [
    ...code.matchAll(
      /\{([^{}]+)\}\s*(?:from\s*|=\s*(?:await\s+)?(?:import|require)\()'(?:node:fs|[./\w-]*\/files\.js)/g,
    ),
  ];
  const called = /\bfs\s*(?:from\s*|=\s*require\()'node:fs'/.test(code) ? [...code.matchAll(/\bfs\.(\w+)/g)] : [];
  const snapshots = [...code.matchAll(/\.(writeHeapSnapshot)\(/g)];
  const names = [...imported.flatMap(([, all]) => all.split(',')), ...[...called, ...snapshots].map(([, one]) => one)];
  return new Set(
    names.map((name) => {
      const [original] = name.trim().split(/ as |:/);
      return OURS[original] ?? original.replace(/Sync$/, '');
    }),
  );
}

function secondUses(code) {
  const used = functionsOf(code);
  const [opens, asks, moves, changes] = [OPENS, ASKS, MOVES, CHANGES].map((all) => all.filter((one) => used.has(one)));
  const isSecond = opens.length > 1 || changes.length > 0 || (opens.length > 0 && asks.length + moves.length > 0);
  return isSecond ? [...opens, ...asks, ...moves, ...changes].sort().join(' ') : '';
}

test('code uses a path twice only if no other user can exchange the file in between', () => {
  const found = sourceFiles('bin', 'lib', 'daemon')
    .map(({ path, code }) => [path, secondUses(code)])
    .filter(([, uses]) => uses !== '');
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(TABLE).map(([path, [, uses]]) => [path, uses])),
  );
});

test.each([
  ["import { chmodSync } from 'node:fs';", 'chmod'],
  ["import { closeSync, openSync, rmSync } from 'node:fs';", ''],
  ["import { stat, open } from 'node:fs/promises';", 'open stat'],
  ["const fs = require('node:fs'); fs.openSync(a); fs.chownSync(a);", 'chown open'],
  ["const { chmodSync: change } = require('node:fs');", 'chmod'],
])('the search finds a second use in %s', (code, uses) => {
  expect(secondUses(code)).toBe(uses);
});
