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
 * @returns {Record<string, Verb>}
 */
export function createAppVerbs({ findChild, children, messages }) {
  const deliveries = createDeliveries();
  return {
    'subscribe-messages'({ isOn }) {
      messages.hear(isOn === true);
    },
    'app-metadata'() {
      return {
        metadata: Object.fromEntries(
          [...children()]
            .map((child) => [child.instanceId, messages.keptOf(child)])
            .filter(([, kept]) => kept.length > 0),
        ),
      };
    },
    reports() {
      return {
        reports: Object.fromEntries(
          [...children()].filter(({ report }) => report).map(({ instanceId, report }) => [instanceId, report]),
        ),
      };
    },
    async 'send-message'({ instanceId, message, token }) {
      const child = await livingOf(findChild, instanceId);
      if (!child.hasChannel) throw new KeeperError('ENOTSUP', `instance ${instanceId} has no channel for messages`);
      return deliveries.once(child, token, () => {
        if (child.waitingChars > CHANNEL_MAX_CHARS)
          throw new KeeperError('EAGAIN', `instance ${instanceId} does not read its messages`);
        if (!child.message(message))
          throw new KeeperError('EPIPE', `instance ${instanceId} has no channel to this keeper`);
      });
    },
    async write({ instanceId, text, token }) {
      const child = await livingOf(findChild, instanceId);
      const { input } = child;
      if (!input)
        throw new KeeperError('ENOTSUP', `this keeper does not hold the standard input of instance ${instanceId}`);
      return deliveries.once(child, token, () => {
        if (!input.writable) throw new KeeperError('EPIPE', `instance ${instanceId} has closed its standard input`);
        if (input.writableLength + Buffer.byteLength(text) > INPUT_MAX_BYTES)
          throw new KeeperError('EAGAIN', `instance ${instanceId} does not read its standard input`);
        input.write(text);
      });
    },
    async inspect({ instanceId, isOn, timeoutMs }) {
      const child = await livingOf(findChild, instanceId);
      const answer = await answered(child, { act: 'inspect', isOn }, timeoutMs);
      if (!answer)
        throw new KeeperError(
          child.mode === 'exec' ? 'ENOTSUP' : 'EPIPE',
          `instance ${instanceId} has no agent to ask`,
        );
      return { url: answer.url ?? null, was: answer.was ?? null };
    },
    async profile({ instanceId, question, timeoutMs }) {
      const child = await livingOf(findChild, instanceId);
      const answer = await answered(child, { ...question, act: 'profile' }, timeoutMs);
      if (!answer)
        throw new KeeperError(
          child.mode === 'exec' ? 'ENOTSUP' : 'EPIPE',
          `instance ${instanceId} has no agent to ask`,
        );
      const { failure = null, bytes = 0, stack = null } = answer;
      return { failure, bytes, stack };
    },
  };
}

/**
 * @param {object} o
 * @param {(instanceId: string) => Promise<Child>} o.findChild
 * @param {(child: Child) => void} o.onChanged
 * @returns {Record<string, Verb>}
 */
export function createRotationVerbs({ findChild, onChanged }) {
  /** @param {string} instanceId */
  const living = (instanceId) => livingOf(findChild, instanceId);

  return {
    async admit({ instanceId }) {
      const child = await living(instanceId);
      await answered(child, { act: 'admit' });
      child.isGated = false;
      onChanged(child);
    },
    async park({ instanceId }) {
      const child = await living(instanceId);
      child.isParked = true;
      onChanged(child);
      child.tell({ act: 'park' });
    },
    async unpark({ instanceId }) {
      const child = await living(instanceId);
      await answered(child, { act: 'unpark' });
      child.isParked = false;
      onChanged(child);
    },
    async ping({ instanceId, timeoutMs }) {
      await answered(await living(instanceId), { act: 'ping' }, timeoutMs);
    },
    async sample({ instanceId, everyMs }) {
      (await living(instanceId)).tell({ act: 'sample', everyMs });
    },
  };
}

/**
 * @param {(instanceId: string) => Promise<Child>} findChild
 * @param {string} instanceId
 * @returns {Promise<Child>}
 */
async function livingOf(findChild, instanceId) {
  const child = await findChild(instanceId);
  if (child.exit) throw new KeeperError('ESRCH', `instance ${instanceId} has exited`);
  return child;
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
  return {
    /**
     * @param {Child} child
     * @param {unknown} token  Without a token every delivery is new.
     * @param {() => void} give
     */
    once(child, token, give) {
      const tokens = given.get(child) ?? [];
      if (typeof token === 'string' && tokens.includes(token)) return { isRepeated: true };
      give();
      if (typeof token === 'string') given.set(child, [...tokens, token].slice(-TOKENS_KEPT));
      return { isRepeated: false };
    },
  };
}
