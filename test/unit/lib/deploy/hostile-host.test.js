import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runRemote } from '../../../../lib/deploy/remote.js';
import { readDeployment } from '../../../../lib/deploy/deployment.js';
import { revert, update } from '../../../../lib/deploy/steps.js';

const { deployment } = readDeployment(
  { production: { host: 'web1', ref: 'origin/main', repo: 'git@example.com:app.git', path: '/srv/app' } },
  'production',
  { file: 'ecosystem.config.js', postDeploy: 'true' },
);

/**
 * A host that runs `answer` in place of each script of nclust. `$mark` is the mark of the script,
 * and `say` reports a fact.
 */
function around(answer) {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-host-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const ssh = `#!/bin/sh
script=$(cat)
mark=$(printf '%s' "$script" | sed -n '1s/nclust_mark=//p')
say() { printf '%s %s %s\\n' "$mark" "$1" "$2"; }
case $script in *'say locked'*) say held yes ;; esac
${answer}
`;
  writeFileSync(join(folder, 'ssh'), ssh, { mode: 0o755 });
  const said = [];
  return {
    said,
    folder,
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
    isParallel: false,
    nowMs: 0,
    who: 'ann',
    signal: new AbortController().signal,
    onLine: () => {},
    printMessage: (sentence) => said.push(sentence),
  };
}

const COMMIT = 'a'.repeat(40);

test.each([
  ['no commit', ':', /failed on web1: it reported no commit\./],
  [
    'a commit that is not one',
    'say commit "$(printf \'\\033[2J; rm -rf /\')"',
    /it reported a commit that cannot be right/,
  ],
  ['no release', `say commit ${COMMIT}`, /it reported no release\./],
  [
    'the folder of releases as its release',
    `say commit ${COMMIT}; say release .`,
    /a release that cannot be right \(\.\)/,
  ],
  ['nothing after the change', `say commit ${COMMIT}; say release r1`, /it reported no active\./],
])('deploy fails with an error if a host reports %s', async (_what, answer, message) => {
  await expect(update(deployment, around(answer), 'origin/main')).rejects.toMatchObject({
    code: 'ERR_NCLUST_DEPLOY_FAILED',
    message: expect.stringMatching(message),
  });
});

test('revert fails with an error if a host reports nothing', async () => {
  await expect(revert(deployment, around(':'), 1)).rejects.toMatchObject({ code: 'ERR_NCLUST_DEPLOY_FAILED' });
});

test('a host is believed if it reports all that the steps need', async () => {
  const host = around(`say commit ${COMMIT}; say release r1; say active r1`);
  await update(deployment, host, 'origin/main');
  expect(host.said.at(-1)).toBe('web1 runs r1.');
});

test('a long line is passed on in parts, and unknown facts are dropped', async () => {
  const host = around(`head -c 2000000 /dev/zero | tr '\\0' x; printf '\\ra\\r\\nb\\r'; say step end; say toString x`);
  const texts = [];
  const { reports } = await runRemote(deployment, 'web1', '', { ...host, onLine: ({ text }) => texts.push(text) });
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(200_000);
  expect(texts.join('')).toBe(`${'x'.repeat(2_000_000)}ab`);
  expect([texts.slice(-2), { ...reports }]).toEqual([['a', 'b'], { step: 'end' }]);
});
