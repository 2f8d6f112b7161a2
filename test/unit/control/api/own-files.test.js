import { beforeEach, expect, test } from 'vitest';
import { createRig } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const start = (spec) => rig.call('start', { specs: [spec], wait: false, token: 'start' });

test.each(['outFile', 'errorFile', 'logFile'])(
  '%s cannot be a file of the manager, because flush would empty it',
  async (key) => {
    for (const file of [
      'state.json',
      'state.json.bak',
      'dump.json',
      'settings.json',
      'web.token',
      'nclust.log',
      'nclust.sock',
      'run/../state.json',
      'run/p-1-1',
    ]) {
      await expect(start(makeSpec({ [key]: `/home/nclust/${file}` })), file).rejects.toMatchObject({
        code: 'ERR_NCLUST_BAD_SPEC',
        message: expect.stringContaining('a file of the manager'),
      });
    }
    expect((await rig.call('list')).slots).toEqual([]);
  },
);

test('a restart or a reload cannot make it a file of the manager either', async () => {
  await start(makeSpec({ outFile: '/home/nclust/logs/state.json' }));
  for (const method of ['restart', 'reload']) {
    const params = { targets: ['api'], spec: { outFile: '/home/nclust/state.json' }, wait: false, token: method };
    await expect(rig.call(method, params), method).rejects.toMatchObject({ code: 'ERR_NCLUST_BAD_SPEC' });
  }
});

test.each(['outFile', 'errorFile', 'logFile'])(
  '%s cannot be the program of the app, because rotation would remove it',
  async (key) => {
    const spec = makeSpec({ script: '/srv/app.js' });
    await expect(start({ ...spec, [key]: '/srv/app.js' })).rejects.toMatchObject({
      code: 'ERR_NCLUST_BAD_SPEC',
      message: expect.stringContaining('which is the program of the app'),
    });
  },
);
