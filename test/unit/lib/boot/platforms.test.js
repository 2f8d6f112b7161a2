import { expect, test } from 'vitest';
import { choosePlatform } from '../../../../lib/boot/platforms.js';

const SHELL = { path: '', instead: 'nclust resurrect' };

test.each([
  ['systemd', 'systemd ubuntu centos arch oracle Ubuntu'],
  ['launchd', 'macos darwin launchd'],
  ['openrc', 'openrc'],
  ['rcd', 'freebsd rcd'],
  ['rcd-openbsd', 'openbsd rcd-openbsd'],
])('%s has every name that PM2 gives it', (platform, words) => {
  for (const word of words.split(' ')) expect(choosePlatform(word, SHELL)).toBe(platform);
});

test.each('upstart ubuntu14 ubuntu12 systemv amazon centos6 smf sunos solaris'.split(' '))(
  '%s has no service, and the message says what to use instead',
  (word) => {
    expect(() => choosePlatform(word, SHELL)).toThrow(
      expect.objectContaining({
        code: 'ERR_NCLUST_STARTUP',
        hint: expect.stringContaining('@reboot nclust resurrect'),
      }),
    );
  },
);

test('a misspelt init system is a usage error with a suggestion', () => {
  expect(() => choosePlatform('sytemd', SHELL)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_USAGE', hint: 'Did you mean "systemd"?' }),
  );
});
