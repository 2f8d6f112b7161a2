import { expect, test } from 'vitest';
import { changesOf, readSettings } from '../../../../lib/library/setting-changes.js';
import { makeSpec } from '../../control/make-spec.js';

test('settings change attributes that have no option, too', async () => {
  const warnings = [];
  const settings = { secrets: { TOKEN: '/run/token' }, watch_options: { depth: 1 }, env: { A: 1 }, script: 'other.js' };
  const read = readSettings(settings, (text) => warnings.push(text));
  const client = { request: async () => ({ slots: [{ name: 'api', spec: makeSpec({ name: 'api' }) }] }) };
  expect(await changesOf(client, ['api'], read, /** @type {any} */ ({}))).toMatchObject({
    spec: { secrets: { TOKEN: { file: '/run/token' } }, watchOptions: { depth: 1 } },
    specs: { api: { env: { A: '1' } } },
  });
  expect(warnings).toEqual([expect.stringContaining('"script" is ignored')]);
});
