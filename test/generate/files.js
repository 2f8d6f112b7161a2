import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { withTables } from './config-page.js';
import { configSchema } from './config-schema.js';
import { configTypes } from './config-types.js';
import { specTypes } from './spec-types.js';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const GENERATED = [
  { file: at('docs/config.md'), text: () => withTables(readFileSync(at('docs/config.md'), 'utf8')) },
  { file: at('lib/config/config-types.d.ts'), text: configTypes },
  { file: at('lib/app-spec/types.d.ts'), text: specTypes },
  { file: at('lib/config/nclust.schema.json'), text: configSchema },
];
