import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sudoLine } from '../../../../lib/boot/service.js';

test('the line for root can be pasted, whatever is in PATH and in names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust sudo-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'sudo'), '#!/bin/sh\nexec "$@"\n');
  const node = join(folder, 'node');
  writeFileSync(node, '#!/bin/sh\nprintf "%s\\n" "$PATH" "$@"\n');
  for (const file of [node, join(folder, 'sudo')]) chmodSync(file, 0o755);
  const whose = { user: 'ann', uid: 1, gid: 1, userHome: "/home/it's ann", home: '/srv/my apps' };
  const line = sudoLine(
    'startup',
    { platform: 'systemd', whose, node, main: '/opt/nclust.js' },
    {
      serviceName: 'web',
    },
  );
  const path = `${folder}:/mnt/c/Program Files/x:/usr/bin:/bin`;
  expect(
    execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8', env: { PATH: path } })
      .trimEnd()
      .split('\n'),
  ).toEqual([
    `${path}:${folder}`,
    '/opt/nclust.js',
    'startup',
    'systemd',
    '-u',
    'ann',
    '--hp',
    "/home/it's ann",
    '--home',
    '/srv/my apps',
    '--service-name',
    'web',
  ]);
});
