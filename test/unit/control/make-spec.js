import { checkSpec } from '../../../lib/shared/spec/spec.js';

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
