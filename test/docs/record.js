// `npm run docs:record`: runs the commands of the pages below and writes their output into the
// pages. test/e2e/long/pages.test.js runs the same commands and compares the output.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createPageHome, SESSIONS } from './page-home.js';
import { readPage } from './pages.js';
import { runPage } from './session.js';

for (const page of SESSIONS) {
  const home = await createPageHome({ port: 3000 });
  try {
    const { text } = await runPage(readPage(page), home);
    writeFileSync(fileURLToPath(new URL(`../../${page}`, import.meta.url)), text);
  } finally {
    await home.close();
  }
}
