import { expect, test } from 'vitest';
import { openServer } from '../rpc-server.js';
import { runCommandLine } from '../run-command-line.js';

test('web --allow-remote prints safer ways and the duties of a proxy', async () => {
  const { home } = await openServer({
    web: () => ({
      isOn: true,
      url: 'http://10.1.2.3:9616/#token=x',
      host: '0.0.0.0',
      port: 9616,
      mayAct: false,
      isRemote: true,
      takenPorts: [],
    }),
  });
  const { exitStatus, stderr: said } = await runCommandLine(['web', '--listen', '0.0.0.0:9616', '--allow-remote'], {
    cwd: home,
    env: { NCLUST_HOME: home },
  });
  expect(exitStatus).toBe(0);
  expect(said).toContain('Others can reach 0.0.0.0:9616, and nothing is encrypted');
  expect(said).toContain(
    'ssh -L 9616:127.0.0.1:9616 host), or a proxy with TLS that sets Host and Origin (see docs/web.md).',
  );
});
