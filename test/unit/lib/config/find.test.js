import { expect, test } from 'vitest';
import { CONFIG_NAMES, isConfigName } from '../../../../lib/config/find.js';

test.each([
  ...CONFIG_NAMES,
  'package.json',
  'process.json',
  'pm2.yml',
  './deploy/x.config.js',
  '/srv/app/prod.config.cjs',
  'my.config.mts',
  'apps.json5',
  'apps.jsonc',
])('%s is a config file', (name) => {
  expect(isConfigName(name)).toBe(true);
});

test.each([
  'app.js',
  'app.json.js',
  'ecosystem.js',
  'config.js',
  'foo.config.json.sh',
  'x.yaml.py',
  'api',
  '0',
  'all',
  'my.config.jsx',
  'configjs',
  './apps.json/server.js',
])('%s is not a config file', (name) => {
  expect(isConfigName(name)).toBe(false);
});
