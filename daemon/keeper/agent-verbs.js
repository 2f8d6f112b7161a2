import { KeeperError } from './protocol.js';
import { createDeadline } from './retire.js';

/** @import { Child } from './child.js' */
/** @import { Verb } from './control-link.js' */

/** Limits for data that waits because the app does not read it. */
const CHANNEL_MAX_CHARS = 1024 * 1024;
const INPUT_MAX_BYTES = 64 * 1024;

/**
 * @param {object} o
 * @param {(instanceId: string) => Promise<Child>} o.findChild  Rejects with ESRCH.
 * @param {() => Iterable<Child>} o.children
 * @param {ReturnType<typeof import('./app-messages.js').createAppMessages>} o.messages
 * @param {(child: Child) => void} o.onRotationChanged
 * @returns {Record<string, Verb>}
 */
export function createAppVerbs({ findChild, children, messages, onRotationChanged }) {
  const deliverOnce = createDeliveries();

  /** Verbs for a process that has not exited. @type {Record<string, (child: Child, params: any) => unknown>} */
  const ofChild = {
    'send-message': (child, { message, token }) => {
      const { instanceId } = child;
      if (!child.hasChannel) throw new KeeperError('ENOTSUP', `instance ${instanceId} has no channel for messages`);
      return deliverOnce(child, token, () => {
        if (child.waitingChars > CHANNEL_MAX_CHARS)
          throw new KeeperError('EAGAIN', `instance ${instanceId} does not read its messages`);
        if (!child.message(message))
          throw new KeeperError('EPIPE', `instance ${instanceId} has no channel to this keeper`);
      });
    },
    write: (child, { text, token }) => {
      const { input, instanceId } = child;
      if (!input)
        throw new KeeperError('ENOTSUP', `this keeper does not hold the standard input of instance ${instanceId}`);
      return deliverOnce(child, token, () => {
        if (!input.writable) throw new KeeperError('EPIPE', `instance ${instanceId} has closed its standard input`);
        if (input.writableLength + Buffer.byteLength(text) > INPUT_MAX_BYTES)
          throw new KeeperError('EAGAIN', `instance ${instanceId} does not read its standard input`);
        input.write(text);
      });
    },
    inspect: async (child, { isOn, timeoutMs }) => {
      const { url = null, was = null } = await askAgent(child, { act: 'inspect', isOn }, timeoutMs);
      return { url, was };
    },
    profile: async (child, { question, timeoutMs }) => {
      const answer = await askAgent(child, { ...question, act: 'profile' }, timeoutMs);
      const { failure = null, bytes = 0, stack = null } = answer;
      return { failure, bytes, stack };
    },
    admit: async (child) => {
      await answered(child, { act: 'admit' });
      child.isGated = false;
      onRotationChanged(child);
    },
    park: (child) => {
      child.isParked = true;
      onRotationChanged(child);
      child.tell({ act: 'park' });
    },
    unpark: async (child) => {
      await answered(child, { act: 'unpark' });
      child.isParked = false;
      onRotationChanged(child);
    },
    ping: async (child, { timeoutMs }) => void (await answered(child, { act: 'ping' }, timeoutMs)),
    sample: (child, { everyMs }) => void child.tell({ act: 'sample', everyMs }),
  };

  /** @param {string} instanceId */
  const findLiving = async (instanceId) => {
    const child = await findChild(instanceId);
    if (child.exit) throw new KeeperError('ESRCH', `instance ${instanceId} has exited`);
    return child;
  };
  const verbs = Object.entries(ofChild).map(([name, verb]) => [
    name,
    async (/** @type {any} */ params) => verb(await findLiving(params.instanceId), params),
  ]);

  return {
    ...Object.fromEntries(verbs),
    'subscribe-messages': ({ isOn }) => messages.hear(isOn === true),
    'app-metadata'() {
      const kept = [...children()].map((child) => [child.instanceId, messages.keptOf(child)]);
      return { metadata: Object.fromEntries(kept.filter(([, entries]) => entries.length > 0)) };
    },
    reports() {
      const reporting = [...children()].filter(({ report }) => report);
      return { reports: Object.fromEntries(reporting.map(({ instanceId, report }) => [instanceId, report])) };
    },
  };
}

/**
 * @param {Child} child
 * @param {{ act: string, [key: string]: unknown }} question
 * @param {number} timeoutMs
 * @returns {Promise<Record<string, any>>}  Rejects like answered(), and if there is no agent.
 */
async function askAgent(child, question, timeoutMs) {
  const answer = await answered(child, question, timeoutMs);
  if (answer) return answer;
  const code = child.mode === 'exec' ? 'ENOTSUP' : 'EPIPE';
  throw new KeeperError(code, `instance ${child.instanceId} has no agent to ask`);
}

/**
 * @param {Child} child
 * @param {{ act: string, [key: string]: unknown }} question
 * @param {number} [timeoutMs]  Default: until the process exits.
 * @returns {Promise<Record<string, any> | undefined>}  undefined: the process has no agent, or the
 *   agent cannot be reached. Rejects if the agent refuses, the process exits, or the time is over.
 */
async function answered(child, question, timeoutMs) {
  const deadline = timeoutMs === undefined ? null : createDeadline(timeoutMs);
  try {
    return await new Promise((resolve, reject) => {
      /** @param {Record<string, any>} answer */
      const onAnswer = (answer) =>
        answer.refusal ? reject(new KeeperError(answer.refusal.code, answer.refusal.message)) : resolve(answer);
      if (child.mode === 'exec' || !child.ask(question, onAnswer)) return resolve(undefined);
      void child.exited.then(() => reject(new KeeperError('ESRCH', `instance ${child.instanceId} has exited`)));
      void deadline?.passed.then(() =>
        reject(new KeeperError('ETIMEDOUT', `instance ${child.instanceId} did not answer within ${timeoutMs} ms`)),
      );
    });
  } finally {
    deadline?.clear();
  }
}

/** Limit for the tokens of one instance. */
const TOKENS_KEPT = 256;

/**
 * Finds repeated requests. Control and clients repeat a request if control dies before the answer.
 */
function createDeliveries() {
  /** @type {WeakMap<Child, string[]>} */
  const given = new WeakMap();
  /**
   * @param {Child} child
   * @param {unknown} token  Without a token every delivery is new.
   * @param {() => void} give
   */
  return (child, token, give) => {
    const tokens = given.get(child) ?? [];
    if (typeof token === 'string' && tokens.includes(token)) return { isRepeated: true };
    give();
    if (typeof token === 'string') given.set(child, [...tokens, token].slice(-TOKENS_KEPT));
    return { isRepeated: false };
  };
}
