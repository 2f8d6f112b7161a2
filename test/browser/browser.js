import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { slowdown } from '../helpers/wait-for.js';
import { CHROMIUM_ARGS, findChromium } from './chromium.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const PATIENCE_MS = 10_000;

/** Opens one browser for a test file. A test fails if a page reports an unexpected problem. */
export function useBrowser() {
  let browser;
  let problems = [];
  let expected = [];
  let contexts = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findChromium(), args: CHROMIUM_ARGS });
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    const unexpected = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)));
    [problems, expected, contexts] = [[], [], []];
    expect(unexpected, 'what the console of the browser says').toEqual([]);
  });

  return {
    async page(options = {}) {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        reducedMotion: 'reduce',
        ...options,
      });
      contexts.push(context);
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS * slowdown());
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
      });
      page.on('pageerror', (error) => problems.push(`uncaught: ${error.stack}`));
      page.on('response', (response) => {
        if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
      });
      return page;
    },
    expectProblem: (pattern) => void expected.push(pattern),
    version: () => browser.version(),
  };
}

/** @returns {Promise<string[]>}  Accessibility problems that axe finds. */
export async function barriers(page) {
  // The debugger adds axe, because the policy of the page forbids foreign scripts.
  const { readFileSync } = await import('node:fs');
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.map(
    ({ id, impact, nodes }) =>
      `${impact} ${id}: ${nodes
        .slice(0, 3)
        .map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`)
        .join(' | ')}`,
  );
}
