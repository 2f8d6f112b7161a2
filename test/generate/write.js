import { writeFileSync } from 'node:fs';
import { GENERATED } from './files.js';

// Run this program after a change of the schema: node test/generate/write.js

for (const { file, text } of GENERATED) writeFileSync(file, await text());
