import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { takeNotifier } from '../../lib/boot/systemd.js';
import { notifySocket } from '../helpers/notify-socket.js';

test.runIf(process.getuid?.() === 0)(
  'notifications come from the process of root itself, as NotifyAccess=main requires',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nclust-notify-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const systemd = await notifySocket(folder);
    const notifier = takeNotifier({ NOTIFY_SOCKET: systemd.path, PATH: process.env.PATH }, (sentence) => {
      throw new Error(sentence);
    });
    notifier?.send('READY=1', 'STATUS=1 of 1 instances are up');
    notifier?.send('WATCHDOG=1');
    await notifier?.sent();
    expect(systemd.received()).toEqual([['READY=1', 'STATUS=1 of 1 instances are up'], ['WATCHDOG=1']]);
    expect(systemd.senders()).toEqual([process.pid, process.pid]);
  },
);
