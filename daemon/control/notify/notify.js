// Knows: the receivers, and the messages that each gets about open troubles and deaths of the
// manager's processes. Must not: judge an app, or let any other part wait for a receiver.
// Start at: createNotify(), then reconcile.js; outbox.js has the queue, send.js the connections.
import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { formatAddress } from '../../../lib/shared/address.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { isLoopback } from '../../../lib/shared/settings/listen-address.js';
import { shortReceiver } from '../../../lib/shared/settings/receiver.js';
import { createDeathFinder, isDeathDue, noteDeath } from './manager-deaths.js';
import { createOutbox } from './outbox.js';
import { createQueueFile, readQueueFiles } from './queue-file.js';
import { NEWS_MAX, reconcile } from './reconcile.js';
import { collectRules } from './rules.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */
/** @import { NotifySetting } from '../../../lib/shared/settings/notify-keys.js' */
/** @import { NotifyResult, ShownReceiver } from '../../../lib/shared/settings/notify-keys.js' */
/** @import { Control, Parts } from '../context.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { Troubles } from '../troubles/troubles.js' */
/** @import { DeathNotes, ManagerDeath } from './manager-deaths.js' */
/** @import { Envelope, Message } from './message.js' */
/** @import { Outbox } from './outbox.js' */
/** @import { Saved } from './queue-file.js' */
/** @import { News, Rule } from './reconcile.js' */

/** Changes within this time are looked at together, in ms. */
const GATHER_MS = 100;

const DEATHS_KEPT = 100;

/** @typedef {typeof import('./message.js') & Pick<typeof import('./send.js'), 'send'>} Tools */

/**
 * @typedef {object} Notify
 * @property {() => ShownReceiver[]} list
 * @property {(names: string[]) => Promise<NotifyResult[]>} test
 *   Sends a test message now. Names of settings or apps; none: all. Throws ERR_NCLUST_NO_RECEIVER.
 * @property {() => Promise<void>} close  Resolves when no file is written any more.
 */

/**
 * @param {object} o
 * @param {Pick<Control, 'registry'>} o.control
 * @param {Pick<Parts, 'clock' | 'eventLog' | 'managerLog' | 'settings' | 'home'>} o.parts
 * @param {Pick<Metrics, 'onTick'>} o.metrics
 * @param {Pick<Troubles, 'list' | 'isReady'>} o.troubles
 * @param {LoggedEvent[]} o.past  Oldest first.
 * @param {string} o.folder  For the queues.
 * @param {() => Promise<Tools>} [o.load]
 * @returns {Notify}
 */
export function createNotify({ control, parts, metrics, troubles, past, folder, load = loadModules }) {
  const { clock, eventLog, managerLog, settings, home } = parts;
  const findDeath = createDeathFinder(past);
  /** @type {ManagerDeath[]} */
  let deaths = past.flatMap((event) => findDeath(event) ?? []).slice(-DEATHS_KEPT);
  /** By receiver. Null: the queues have not been read. @type {Map<string, Outbox> | null} */
  let outboxes = null;
  /** @type {{ of: [NotifySetting[] | null, object] | null, rules: Map<string, Rule[]> }} */
  let known = { of: null, rules: new Map() };
  const bootMs = clock.nowMs();
  /** When the judge was ready. @type {number | null} */
  let sinceMs = null;
  let isDue = false;
  let isClosed = false;
  let problem = '';
  /** Loaded when there is a receiver. @type {Tools | null} */
  let tools = null;

  async function open() {
    try {
      const saved = await readQueueFiles(folder);
      if (isClosed) return;
      outboxes = new Map(saved.map((one) => [one.state.to, openOutbox(one.state.to, one)]));
    } catch (error) {
      outboxes = new Map();
      managerLog('notify-unread', { message: /** @type {Error} */ (error).message });
    }
  }

  /**
   * @param {string} to
   * @param {Saved | null} saved
   */
  function openOutbox(to, saved) {
    const name = createHash('sha256').update(to).digest('hex').slice(0, 32);
    return createOutbox(to, {
      file: createQueueFile(join(folder, `${name}.jsonl`)),
      ...{ saved, clock, managerLog },
      // A receiver that is set later does not hear of earlier deaths.
      throughMs: sinceMs === null ? bootMs : clock.nowMs(),
      // look() starts it, with the tools.
      send: (receiver, message) => /** @type {Tools} */ (tools).send(receiver, message, clock),
    });
  }

  /** @returns {Map<string, Rule[]>} */
  function readRules() {
    const given = settings.notify();
    const { apps } = control.registry.desired;
    if (known.of?.[0] !== given || known.of[1] !== apps)
      known = { of: [given, apps], rules: collectRules(given ?? [], apps) };
    return known.rules;
  }

  function look() {
    if (isClosed || control.registry.ending || !troubles.isReady() || !outboxes) return;
    const rules = readRules();
    for (const to of rules.keys()) if (!outboxes.has(to)) outboxes.set(to, openOutbox(to, null));
    sinceMs ??= clock.nowMs();
    if (outboxes.size === 0) return;
    if (!tools) return void loadTools();
    const openNow = troubles.list();
    for (const [to, outbox] of outboxes) {
      const own = rules.get(to) ?? [];
      // With a broken file of settings, the receivers are not known.
      if (own.length > 0) outbox.isOfApp = own.every(({ isOfApp }) => isOfApp);
      else if (settings.notify() !== null) retire(outbox);
      outbox.start();
      const { notified, news } = reconcile(outbox.notified, {
        open: openNow,
        rules: own,
        nowMs: clock.nowMs(),
        sinceMs,
      });
      const death = takeDeath(outbox, own);
      const messages = makeMessages(tools, news, death);
      outbox.notified = notified;
      if (messages.length > 0) outbox.add(messages);
      if (news.length >= NEWS_MAX) lookSoon();
    }
  }

  async function loadTools() {
    try {
      tools = await load();
      lookSoon();
    } catch (error) {
      reportProblem(error);
    }
  }

  /**
   * Nothing names the receiver any more. That of an app still gets what concerns its deletion.
   * @param {Outbox} outbox
   */
  function retire(outbox) {
    const names = new Set(control.registry.desired.apps.map(({ spec }) => spec.name));
    const isKept = (/** @type {string | null} */ app) => outbox.isOfApp && app !== null && !names.has(app);
    outbox.keepOnly(({ app }) => isKept(app));
    outbox.notified = Object.fromEntries(
      Object.entries(outbox.notified).filter(([, { trouble }]) => isKept(trouble.app)),
    );
    if (Object.keys(outbox.notified).length > 0 || outbox.describe().waiting > 0) return;
    outboxes?.delete(outbox.to);
    outbox.remove().catch((error) => managerLog('notify-unsaved', { message: error.message }));
  }

  /**
   * @param {Outbox} outbox
   * @param {Rule[]} rules
   */
  function takeDeath(outbox, rules) {
    for (const death of deaths) outbox.deaths = noteDeath(outbox.deaths, death);
    const { deaths: notes } = outbox;
    if (!rules.some(({ hasManager }) => hasManager)) outbox.deaths = { ...notes, waiting: null };
    else if (isDeathDue(notes, clock.nowMs())) {
      outbox.deaths = { ...notes, notifiedMs: clock.nowMs(), waiting: null };
      return notes.waiting;
    }
    return null;
  }

  /**
   * @param {Tools} make
   * @param {News[]} news
   * @param {DeathNotes['waiting']} death
   * @returns {Message[]}
   */
  function makeMessages({ makeTroubleMessage, makeManagerMessage }, news, death) {
    const { desired, histories } = control.registry;
    const messages = news.map((one) => {
      const slots = desired.apps.find(({ spec }) => spec.name === one.trouble.app)?.slots ?? [];
      const ofApp = slots.flatMap(({ id }) => histories.get(id)?.deaths ?? []);
      return makeTroubleMessage(one, makeEnvelope(), { instances: slots.length, deaths: ofApp });
    });
    return death ? [...messages, makeManagerMessage(death, makeEnvelope())] : messages;
  }

  /** @returns {Envelope} */
  function makeEnvelope() {
    const { listen } = settings.web();
    // The reader is usually at another machine.
    const isReachable = listen.kind === 'tcp' && !isLoopback(listen);
    const link = isReachable ? `http://${formatAddress({ ...listen, host: reachable(listen.host) })}/` : null;
    return { id: randomUUID(), at: clock.nowMs(), host: hostname(), home, link };
  }

  function lookSafely() {
    try {
      look();
      // Without them, nothing was looked at.
      if (tools) problem = '';
    } catch (error) {
      reportProblem(error);
    }
  }

  /** @param {unknown} error */
  function reportProblem(error) {
    const { message } = /** @type {Error} */ (error);
    if (problem !== message) managerLog('notify-look-failed', { message });
    problem = message;
  }

  function lookSoon() {
    if (isDue || isClosed) return;
    isDue = true;
    clock.after(GATHER_MS, () => {
      isDue = false;
      lookSafely();
    });
  }

  const endings = [
    metrics.onTick(lookSafely),
    eventLog.follow((event) => {
      const death = findDeath(event);
      if (death) deaths = [...deaths, death].slice(-DEATHS_KEPT);
      if (death || event.type.startsWith('trouble:')) lookSoon();
    }),
  ];
  void open();

  return {
    list: () => [...readRules()].map(([to, rules]) => showReceiver(to, rules, outboxes?.get(to) ?? null)),
    async test(names) {
      const chosen = choose(readRules(), names);
      const { makeTestMessage, send } = await load();
      return Promise.all(
        chosen.map(async ([to, rules]) => {
          const failure = await send(to, makeTestMessage(makeEnvelope()), clock);
          return { ...nameReceiver(to, rules), problem: failure?.reason ?? null };
        }),
      );
    },
    async close() {
      isClosed = true;
      for (const end of endings) end();
      await Promise.all([...(outboxes?.values() ?? [])].map((outbox) => outbox.close()));
    },
  };
}

/** @returns {Promise<Tools>} */
async function loadModules() {
  const [make, { send }] = await Promise.all([import('./message.js'), import('./send.js')]);
  return { ...make, send };
}

/** @param {string} host */
function reachable(host) {
  return host === '0.0.0.0' || host === '::' ? hostname() : host;
}

/**
 * @param {Map<string, Rule[]>} rules
 * @param {string[]} names
 */
function choose(rules, names) {
  const all = [...rules];
  const sources = new Set(all.flatMap(([, own]) => own.map(({ source }) => source)));
  const unknown = names.find((name) => !sources.has(name));
  if (unknown !== undefined || all.length === 0)
    throw new NclustError(
      'ERR_NCLUST_NO_RECEIVER',
      unknown === undefined ? 'No receiver is set.' : `There is no receiver "${unknown}".`,
      {
        hint:
          sources.size > 0
            ? `There are: ${[...sources].join(', ')}.`
            : 'Set one: nclust set notify.ops https://example.com/hook',
        data: { names: [...sources] },
      },
    );
  return names.length === 0 ? all : all.filter(([, own]) => own.some(({ source }) => names.includes(source)));
}

/**
 * @param {string} to
 * @param {Rule[]} rules
 */
function nameReceiver(to, rules) {
  return { receiver: shortReceiver(to), names: [...new Set(rules.map(({ source }) => source))] };
}

/**
 * @param {string} to
 * @param {Rule[]} rules
 * @param {Outbox | null} outbox
 * @returns {ShownReceiver}
 */
function showReceiver(to, rules, outbox) {
  const nothing = { waiting: 0, waitingSinceMs: null, dropped: 0, sentMs: null, problem: null };
  return {
    ...nameReceiver(to, rules),
    rules: rules.map(({ source, isOfApp, level, apps, afterMs, repeatMs }) => ({
      ...{ source, isOfApp, level, apps, afterMs, repeatMs },
    })),
    ...(outbox?.describe() ?? nothing),
  };
}
