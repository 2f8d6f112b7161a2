import { checkSpec } from '../../../lib/app-spec/check.js';

export function makeSpec(fields = {}) {
  return checkSpec({
    name: 'api',
    kind: 'node',
    mode: 'cluster',
    file: '/usr/bin/node',
    script: '/srv/api.js',
    cwd: '/srv',
    ...fields,
  });
}
