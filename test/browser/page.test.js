import { describe, expect, test } from 'vitest';
import { barriers, useBrowser } from './browser.js';
import { entry, fakeManager, TOKEN, worker } from './fake-manager.js';
import { trouble } from '../unit/lib/slots.js';

const browser = useBrowser();
const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const three = () => [
  worker({}),
  worker({ id: 1, slot: 1 }),
  worker({ id: 2, slot: 2, cpu: 3 }),
  worker({ id: 3, name: 'job', status: 'errored', pid: 0, startedAtMs: null, http: null, restarts: 16 }),
];

async function open(manager, more = '', options = {}) {
  const page = await browser.page(options);
  await page.goto(manager.url + more);
  await page.locator('#connection', { hasText: 'Live' }).waitFor();
  return page;
}

const row = (page, key) => page.locator(`tr[data-key="${key}"]`);

const see = (page, selector, text) => page.locator(selector).filter({ hasText: text }).first().waitFor();

const focused = (page) =>
  page.evaluate(() => document.activeElement?.dataset.key ?? document.activeElement?.textContent);

describe('the table of apps', () => {
  test('the table shows apps and workers, and the token is neither in the address nor in the history', async () => {
    const manager = await fakeManager({ workers: three() });
    manager.state.troubles = [trouble('errored', { app: 'job' })];
    const page = await open(manager);
    await row(page, 'worker 2').waitFor();
    expect(await row(page, 'app api').locator('td, th').allTextContents()).toEqual([
      'api',
      'online 3/3',
      '28.0%',
      '135.9mb',
      '120',
      '9ms',
      '4ms',
      '0',
      '1h',
      '',
    ]);
    await see(page, '[data-key="app job"] .state', 'errored !');
    await see(page, '#concerns li.bad a', /^job is down and is no longer restarted: it crashed 3 times within 1m/);
    await see(page, '#concerns li.bad code', 'nclust logs job --err; then: nclust start job');
    expect(await page.title()).toBe('(1) web-01 – nclust');
    expect(page.url()).toBe(`${manager.origin}/#`);
    await page.reload();
    await row(page, 'app api').waitFor();
    expect(page.url()).not.toContain(TOKEN);
  });

  test('the table updates figures without touching anything else', async () => {
    const manager = await fakeManager({
      workers: Array.from({ length: 500 }, (_, id) =>
        worker({ id, name: `app-${String(Math.floor(id / 5)).padStart(3, '0')}`, slot: id % 5 }),
      ),
    });
    const page = await open(manager);
    await row(page, 'worker 499').waitFor();
    manager.tick();
    await page.evaluate(() => {
      const seen = (globalThis.seen = { texts: 0, nodes: 0 });
      new MutationObserver((all) => {
        for (const { type, target, addedNodes } of all) {
          if (type === 'attributes') continue;
          seen.texts += 1;
          for (const node of addedNodes) if (node.nodeType === 1) seen.nodes += 1;
          if (target.textContent === '77.0%') document.body.dataset.seen = 'yes';
        }
      }).observe(document.querySelector('tbody'), {
        subtree: true,
        childList: true,
        characterData: true,
        attributes: true,
      });
    });
    manager.tick(manager.state.workers.map((one) => (one.id === 7 ? { ...one, cpu: 77 } : one)));
    await page.locator('body[data-seen]').waitFor({ state: 'attached' });
    const { texts, nodes } = await page.evaluate(() => globalThis.seen);
    expect(nodes).toBe(0);
    // The rows of the worker and its app change. All rows change if their uptime reaches a minute.
    expect(texts).toBeLessThan(650);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
  });

  test('the table can be used with the keyboard only', async () => {
    const page = await open(await fakeManager({ workers: three() }));
    await row(page, 'worker 2').waitFor();
    await row(page, 'app api').focus();
    for (const [key, expected] of [
      ['ArrowDown', 'worker 0'],
      ['End', 'app job'],
      ['ArrowUp', 'worker 2'],
      ['ArrowLeft', 'app api'],
    ]) {
      await page.keyboard.press(key);
      expect(await focused(page), key).toBe(expected);
    }
    await page.keyboard.press('ArrowLeft');
    await row(page, 'worker 0').waitFor({ state: 'detached' });
    expect(await row(page, 'app api').getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('ArrowRight');
    await row(page, 'worker 0').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await see(page, 'h1', 'api, instance 0');
    expect(new URL(page.url()).hash).toBe('#worker=0');
    expect(await focused(page)).toBe('api, instance 0');
    await page.keyboard.press('Escape');
    await row(page, 'worker 0').waitFor();
    expect(await focused(page)).toBe('worker 0');
    await page.keyboard.press('/');
    await page.keyboard.type('jo');
    await row(page, 'app api').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await row(page, 'app api').waitFor();
  });

  test('the table can be sorted by any column, and marks that column', async () => {
    const page = await open(
      await fakeManager({
        workers: [
          worker({ cpu: 1 }),
          worker({ id: 1, name: 'busy', cpu: 90 }),
          worker({ id: 2, name: 'calm', cpu: 5 }),
        ],
      }),
    );
    const names = () => page.locator('tbody .c-name a').allTextContents();
    const head = page.locator('thead .c-cpu');
    await head.locator('button').click();
    await expect.poll(names).toEqual(['busy', 'calm', 'api']);
    expect(await head.getAttribute('aria-sort')).toBe('descending');
    await head.locator('button').click();
    await expect.poll(names).toEqual(['api', 'calm', 'busy']);
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    expect(await page.locator('[aria-sort]').count()).toBe(1);
  });

  test('the table shows names with markup as text', async () => {
    const name = '<img src=x onerror="document.title=1">&amp;';
    const manager = await fakeManager({
      workers: [worker({ name, namespace: '<b>' })],
      methods: { list: () => ({ slots: [], notices: ['<script>1</script>'] }) },
    });
    const page = await open(manager);
    await see(page, 'tbody .c-name a', name);
    await see(page, '#concerns li', '<script>1</script>');
    await page.locator('tbody .c-name a').click();
    await see(page, 'h1', name);
    manager.log([entry('<img src=x onerror=alert(1)>\u001b]0;x\u0007')]);
    await see(page, '.lines span', /^<img src=x onerror=alert\(1\)>$/);
    expect(await page.locator('#main img, #main script').count()).toBe(0);
  });

  test('an app in a crash loop is crashing, and its page begins with the trouble, which keeps the focus', async () => {
    const manager = await fakeManager({ workers: three() });
    manager.state.troubles = [trouble('crash-loop', { slots: [1] })];
    const page = await open(manager);
    await see(page, '[data-key="app api"] .state', 'crashing 3/3 !');
    await see(page, '[data-key="worker 0"] .state', /^online$/);
    await page.locator('#concerns a').focus();
    manager.state.troubles = [trouble('crash-loop', { slots: [1], times: 4 })];
    manager.tick();
    await see(page, '#concerns a:focus', /^api \(instance 1\) crashed 4 times within 1m/);
    await page.keyboard.press('Enter');
    await see(page, '.detail .concerns li.bad', /crashed 4 times.*nclust logs api --err$/);
    await see(page, '.detail .state', 'crashing 3/3 !');
    manager.state.troubles = [];
    manager.tick();
    await see(page, '.detail .state', /^online 3\/3$/);
    await page.locator('.detail .concerns').waitFor({ state: 'hidden' });
  });

  test('the table shows how to start if there is no app', async () => {
    const page = await open(await fakeManager({ workers: [] }));
    await see(page, '#no-apps', 'nclust start app.js -i max');
    expect(await barriers(page)).toEqual([]);
  });
});

describe('the page of an app', () => {
  test('the page of an app shows charts, facts, events, instances and logs', async () => {
    const manager = await fakeManager({ workers: three() });
    manager.state.events = [
      {
        at: Date.now() - 9_000,
        type: 'died',
        app: 'api',
        id: 1,
        slot: 1,
        cause: 'crash',
        code: 3,
        signal: null,
        uptimeMs: 400,
        words: 'Error: boom',
      },
      {
        at: Date.now() - 8_000,
        type: 'died',
        app: 'job',
        id: 3,
        slot: 0,
        cause: 'crash',
        code: 9,
        signal: null,
        uptimeMs: 1,
      },
    ];
    const page = await open(manager, '&app=api');
    await page.locator('.chart canvas').nth(5).waitFor();
    await see(page, '.chart-cpu [role="img"][aria-label]', '');
    await see(page, '.facts dd', '0.0.0.0:3000');
    await see(page, '.facts dt', 'queue length, instance 2');
    await see(page, '.timeline li', 'instance 1 exited with code 3 after 400ms, "Error: boom"');
    await see(page, '.answer', 'api is online since');
    expect(await page.locator('.timeline li').count()).toBe(1);
    await see(page, '.lines .err', 'red and an error');
    await see(page, '[data-key="worker 2"]', 'Instance 2');
    manager.happen({ at: Date.now(), type: 'scaled', app: 'api', from: 3, to: 4, by: 'scale' });
    await see(page, '.timeline li', 'was scaled from 3 to 4 (nclust scale)');
    expect(await page.locator('#apps').isVisible()).toBe(false);
    manager.tick(manager.state.workers.map((one) => ({ ...one, cpu: 50 })));
    await see(page, '.chart-cpu .value', '150.0%');
    await page.getByRole('button', { name: '6 h' }).click();
    await expect.poll(() => manager.asked('metrics').at(-1)?.history).toMatchObject({ stepMs: 10_000, of: 'apps' });
    manager.tick([worker({ id: 3, name: 'job' })]);
    await see(page, '.answer', '“api” is no longer in the list.');
  });

  test('the page of an app follows, pauses and filters logs, and limits their number', async () => {
    const manager = await fakeManager();
    const page = await open(manager, '&app=api');
    await see(page, '.lines div', 'first line');
    manager.log(
      Array.from({ length: 3_000 }, (_, at) => entry(`line ${at}`)),
      { missed: 12 },
    );
    await see(page, '.lines div', /line 2999$/);
    expect(await page.locator('.lines div').count()).toBe(2_000);
    await see(page, '.logs .note', '12 lines came too fast and were left out here');
    const isAtEnd = () =>
      page.locator('.lines').evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight < 2);
    await expect.poll(isAtEnd).toBe(true);

    await page.locator('.lines').evaluate((node) => {
      node.scrollTop = 0;
    });
    await page.locator('.logs [aria-pressed="true"]').waitFor();
    manager.log([entry('while it stood still')]);
    await see(page, '.logs button', 'Resume (1 new)');
    expect(await page.locator('.lines div', { hasText: 'stood still' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await see(page, '.lines div', 'while it stood still');
    await expect.poll(isAtEnd).toBe(true);

    await page.getByLabel('Only lines with this text').fill('a.b');
    await expect
      .poll(() => manager.asked('logs').at(-1))
      .toMatchObject({ targets: ['api'], grep: { source: 'a\\.b', flags: 'i' }, lines: 1_000 });
    expect(manager.asked('unsubscribe')).toHaveLength(1);
    await page.getByLabel('Output stream').selectOption('err');
    await expect.poll(() => manager.asked('logs').at(-1)).toMatchObject({ streams: ['err'] });
  });

  test('the page of an app ends its subscriptions when the user leaves it', async () => {
    const manager = await fakeManager();
    const page = await open(manager, '&app=api');
    await see(page, '.lines div', 'first line');
    await page.getByRole('link', { name: 'All apps' }).click();
    await row(page, 'app api').waitFor();
    await expect
      .poll(() => manager.asked('unsubscribe'))
      .toEqual([{ subscription: manager.asked('logs')[0].subscription }]);
  });
});

describe('an action', () => {
  test('an action shows its effect before, its progress during and its outcome after it', async () => {
    let finish = () => {};
    const manager = await fakeManager({
      mayAct: true,
      workers: three(),
      methods: {
        reload: () =>
          new Promise((resolve) => {
            finish = () => resolve({ slots: [] });
          }),
      },
    });
    const page = await open(manager, '&app=api');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await see(page, 'dialog', 'No request is lost.');
    expect(manager.asked('reload')).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await dialog.getByRole('button', { name: 'Reload' }).click();
    await expect
      .poll(() => manager.asked('reload'))
      .toMatchObject([
        {
          targets: ['api'],
          wait: true,
          progress: true,
          token: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/),
        },
      ]);
    manager.progress({
      token: manager.asked('reload')[0].token,
      done: 1,
      total: 3,
      waiting: [
        {
          id: 1,
          name: 'api',
          slot: 1,
          phase: 'starting',
          forMs: 2_000,
          leftMs: null,
          detail: 'it does not listen yet',
        },
      ],
    });
    await see(page, '#dialog-state', '1 of 3 done');
    await see(page, '#dialog-state', 'Instance 1 has been starting for 2s: it does not listen yet');
    finish();
    await see(page, '#dialog-title', 'Reloaded “api”.');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'hidden' });
  });

  test('an action that is refused shows the error and the hint of the manager', async () => {
    const manager = await fakeManager({
      mayAct: true,
      methods: {
        stop: () => {
          throw Object.assign(new Error('An update is under way.'), { hint: 'Try it again afterwards.' });
        },
      },
    });
    const page = await open(manager, '&app=api');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await see(page, '#dialog-state.bad', 'An update is under way.');
    await see(page, '#dialog-state.bad', 'Try it again afterwards.');
    await see(page, '#dialog-title', 'Stopping “api” failed.');
  });

  test('an action continues with the next manager, and is carried out once', async () => {
    let calls = 0;
    const manager = await fakeManager({
      mayAct: true,
      methods: { restart: () => (++calls === 1 ? new Promise(() => {}) : { slots: [] }) },
    });
    const page = await open(manager, '&app=api');
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await expect.poll(() => calls).toBe(1);
    await page.getByRole('button', { name: 'Hide' }).click();
    manager.cut();
    await see(page, '#said', 'Restarted “api”.');
    const [first, second] = manager.asked('restart');
    expect(second.token).toBe(first.token);
  });

  test('an action is missing on a read-only page, which shows how to allow it', async () => {
    const page = await open(await fakeManager(), '&app=api');
    await see(page, '#rights', 'Read-only');
    await see(page, '.note', 'nclust web --allow-actions');
    expect(await page.locator('.actions button').count()).toBe(0);
  });
});

describe('the connection of a page', () => {
  test('the page shows that its connection is lost and how old the figures are, and reconnects', async () => {
    const manager = await fakeManager();
    const page = await open(manager, '&app=api');
    await see(page, '.lines div', 'first line');
    browser.expectProblem(/WebSocket connection to .* failed|404 .*socket/);
    manager.away();
    await see(page, '#connection', /Reconnecting….*Figures are \d+s old/);
    await page.locator('body.is-stale').waitFor();
    manager.back();
    await see(page, '#connection', 'Live');
    await page.locator('body:not(.is-stale)').waitFor();
    await expect.poll(() => manager.asked('logs').at(-1)).toMatchObject({ cursor: { a: 1 } });
    manager.log([entry('after it came back')]);
    await see(page, '.lines div', 'after it came back');
  });

  test('the connection is not shown as live if nothing arrives', async () => {
    const manager = await fakeManager();
    const page = await browser.page();
    await page.clock.install();
    await page.goto(manager.url);
    await see(page, '#connection', 'Live');
    await row(page, 'app api').waitFor();
    manager.fallSilent();
    await page.clock.runFor(6_000);
    await see(page, '#connection', /No updates\..*Figures are \d+s old/);
  });

  test('the page loads its new version after an update of the manager', async () => {
    const manager = await fakeManager();
    const page = await open(manager);
    await page.evaluate(() => {
      document.body.dataset.old = 'yes';
    });
    manager.state.version = '2.0.0';
    manager.cut();
    await page.locator('body:not([data-old]) #version', { hasText: '2.0.0' }).waitFor();
  });

  test.each([
    ['without a token', '', 'This page needs its full address'],
    ['with a wrong token', `#token=${'b'.repeat(43)}`, 'This address is no longer valid'],
  ])('a page %s is refused, and shows how to get the address', async (_, fragment, title) => {
    const manager = await fakeManager();
    const page = await browser.page();
    await page.goto(`${manager.origin}/${fragment}`);
    await see(page, '#gate h1', title);
    await see(page, '#gate pre', 'nclust web');
    expect(await page.locator('#apps').isVisible()).toBe(false);
    expect(await barriers(page)).toEqual([]);
    await page.goto(manager.url);
    await row(page, 'app api').waitFor();
    expect(await page.locator('#gate').isVisible()).toBe(false);
  });
});

describe('accessibility of the page', () => {
  test.each(['light', 'dark'])('the page has no axe findings in %s colours', async (colorScheme) => {
    const manager = await fakeManager({
      mayAct: true,
      workers: [
        ...three(),
        worker({ id: 4, name: 'late', status: 'waiting restart' }),
        worker({ id: 5, name: 'off', status: 'stopped', pid: 0 }),
        worker({ id: 6, name: 'sick', http: { requestsPerS: 9, errorsPerS: 3, latencyP99Ms: 3, totals: {} } }),
      ],
    });
    const page = await open(manager, '', { colorScheme });
    await row(page, 'app sick').waitFor();
    expect(await barriers(page)).toEqual([]);
    await row(page, 'app api').locator('a').click();
    await page.locator('.chart canvas').nth(5).waitFor();
    await see(page, '.lines .err', 'red');
    await see(page, '.facts dd', '/srv/api');
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    browser.expectProblem(/WebSocket/);
    manager.away();
    await page.locator('body.is-stale').waitFor();
    expect(await barriers(page)).toEqual([]);
  });

  test('the page uses the colours of the system until the user chooses others', async () => {
    const page = await open(await fakeManager(), '', { colorScheme: 'dark' });
    const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const dark = await paper();
    await page.getByRole('button', { name: 'Use light colours' }).click();
    const light = await paper();
    expect(light).not.toBe(dark);
    await page.reload();
    await row(page, 'app api').waitFor();
    expect(await paper()).toBe(light);
  });

  test('the page fits the width of a phone', async () => {
    const long = 'a-name-that-is-much-longer-than-anybody-would-think-of-but-it-is-allowed';
    const manager = await fakeManager({
      mayAct: true,
      workers: [
        ...three(),
        worker({ id: 9, name: long, status: 'waiting restart' }),
        worker({ id: 10, name: long, slot: 1, cpu: 1_200, memoryBytes: 3e11 }),
      ],
    });
    const page = await open(manager, '', PHONE);
    const width = () => page.evaluate(() => document.documentElement.scrollWidth);
    await row(page, 'worker 10').waitFor();
    expect(await width()).toBe(360);
    expect(await barriers(page)).toEqual([]);
    await row(page, `app ${long}`).locator('a').click();
    await see(page, '.facts dd', '/srv/api');
    manager.log([entry('x'.repeat(500))]);
    await see(page, '.lines div', 'xxxx');
    expect(await width()).toBe(360);
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    expect(await page.getByRole('dialog').evaluate((node) => node.getBoundingClientRect().right)).toBeLessThanOrEqual(
      360,
    );
  });
});
