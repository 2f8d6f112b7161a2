import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fixturePath } from './fixtures.js';
import { nodeUnderTest } from './sandbox.js';

/** @import { Result, Running } from './run-program.js' */
/** @import { RunOptions, Sandbox } from './sandbox.js' */

const BIN = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));

/**
 * A git repository, folders that act as hosts, and a config file that deploys to them.
 * @typedef {object} Site
 * @property {string} path  Relative to the home folder on each host.
 * @property {(host?: string) => string} root
 * @property {(files: Record<string, string>) => string} commit
 * @property {(...args: string[]) => string} git
 * @property {(settings?: Record<string, unknown>) => void} configure
 * @property {(...words: (string | RunOptions)[]) => Promise<Result>} deploy
 * @property {(...words: (string | RunOptions)[]) => Running} follow
 * @property {(host?: string) => string | null} current
 * @property {(host?: string) => string[]} releases
 * @property {(file: string, host?: string) => string} read
 * @property {() => string[][]} calls  The arguments of each call of ssh.
 */

/**
 * @param {Sandbox} home
 * @param {{ hosts?: string[], path?: string }} [o]
 * @returns {Site}
 */
export function createSite(home, { hosts = ['web1'], path = 'srv/app' } = {}) {
  const fake = join(home.work, 'hosts');
  const repo = join(home.work, 'repo');
  const programs = join(home.work, 'programs');
  const remote = join(home.work, 'remote-programs');
  for (const folder of [repo, programs, remote, ...hosts.map((host) => join(fake, host))])
    mkdirSync(folder, { recursive: true });
  cpSync(fixturePath('fake-ssh.sh'), join(programs, 'ssh'));
  writeFileSync(
    join(remote, 'nclust'),
    `#!/bin/sh\nNCLUST_HOME='${home.home}' exec '${nodeUnderTest()}' '${BIN}' "$@"\n`,
  );
  for (const file of [join(programs, 'ssh'), join(remote, 'nclust')]) chmodSync(file, 0o755);
  const env = {
    PATH: `${programs}:${process.env.PATH}`,
    FAKE_SSH_ROOT: fake,
    FAKE_SSH_PATH: `${remote}:${process.env.PATH}`,
  };
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
      cwd: repo,
      encoding: 'utf8',
      env: { ...home.env, GIT_CONFIG_NOSYSTEM: '1' },
    }).trim();
  git('init', '--quiet', '--initial-branch', 'main');
  /** @type {Site['follow']} */
  const follow = (...words) => {
    const last = words.at(-1);
    const o = typeof last === 'object' ? last : {};
    return home.follow('deploy', 'production', ...words.filter((word) => typeof word === 'string'), {
      ...o,
      env: { ...env, ...o.env },
    });
  };
  const root = (host = hosts[0]) => join(fake, host, path);

  return {
    path,
    root,
    git,
    commit(files) {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(repo, name)), { recursive: true });
        writeFileSync(join(repo, name), text);
      }
      git('add', '--all');
      git('commit', '--quiet', '--message', `Change ${Object.keys(files).join(', ')}`);
      return git('rev-parse', 'HEAD');
    },
    configure(settings = {}) {
      const production = {
        user: 'deploy',
        host: hosts.length === 1 ? hosts[0] : hosts,
        ref: 'origin/main',
        repo,
        path: `~/${path}`,
        'post-deploy': 'true',
        ...settings,
      };
      writeFileSync(
        join(home.work, 'ecosystem.config.cjs'),
        `module.exports = ${JSON.stringify({ apps: [], deploy: { production } })};\n`,
      );
    },
    deploy: (...words) => follow(...words).done,
    follow,
    current: (host) =>
      existsSync(join(root(host), 'current'))
        ? readlinkSync(join(root(host), 'current')).replace('releases/', '')
        : null,
    releases: (host) =>
      existsSync(join(root(host), 'releases')) ? readdirSync(join(root(host), 'releases')).sort() : [],
    read: (file, host) => readFileSync(join(root(host), file), 'utf8'),
    calls: () =>
      readFileSync(join(fake, 'calls'), 'utf8')
        .split('\n\0')
        .filter(Boolean)
        .map((call) => call.split('\0').slice(0, -1)),
  };
}
