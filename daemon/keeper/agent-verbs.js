// What control may say to apps, and hear from them.
import { createDeliveries } from './deliveries.js';
import { KeeperError } from './protocol.js';
import { answered, living } from './questions.js';

/** What may wait for an app that does not read: on its channel, in characters of JSON, and on its standard input, in bytes. */
const CHANNEL_MAX_CHARS = 1024 * 1024;
const INPUT_MAX_BYTES = 64 * 1024;

/**
 * @param {object} o
 * @param {(instanceId: string) => Promise<import('./child.js').Child>} o.known  Rejects with ESRCH.
 * @param {() => Iterable<import('./child.js').Child>} o.children
 * @param {ReturnType<typeof import('./app-messages.js').createAppMessages>} o.messages
 * @returns {Record<string, import('./control-link.js').Verb>}
 */
export function toApps({ known, children, messages }) {
  const deliveries = createDeliveries();
  return {
    hear({ isOn }) {
      messages.hear(isOn === true);
    },
    told() {
      return { told: Object.fromEntries([...children()].map((child) => [child.instanceId, messages.keptOf(child)]).filter(([, kept]) => kept.length > 0)) };
    },
    reports() {
      return { reports: Object.fromEntries([...children()].filter(({ report }) => report).map(({ instanceId, report }) => [instanceId, report])) };
    },
    async 'send-message'({ instanceId, message, token }) {
      const child = await living(known, instanceId);
      if (child.mode === 'exec') throw new KeeperError('ENOTSUP', `instance ${instanceId} is no Node program`);
      return deliveries.once(child, token, () => {
        if (child.waitingChars > CHANNEL_MAX_CHARS) throw new KeeperError('EAGAIN', `instance ${instanceId} does not read its messages`);
        if (!child.message(message)) throw new KeeperError('EPIPE', `instance ${instanceId} has no channel to this keeper`);
      });
    },
    async write({ instanceId, text, token }) {
      const child = await living(known, instanceId);
      const { input } = child;
      if (!input) throw new KeeperError('ENOTSUP', `the standard input of instance ${instanceId} is not held by this keeper`);
      return deliveries.once(child, token, () => {
        if (!input.writable) throw new KeeperError('EPIPE', `instance ${instanceId} has closed its standard input`);
        if (input.writableLength + Buffer.byteLength(text) > INPUT_MAX_BYTES) throw new KeeperError('EAGAIN', `instance ${instanceId} does not read its standard input`);
        input.write(text);
      });
    },
    async inspect({ instanceId, isOn, timeoutMs }) {
      const child = await living(known, instanceId);
      const answer = await answered(child, { act: 'inspect', isOn }, timeoutMs);
      if (!answer) throw new KeeperError(child.mode === 'exec' ? 'ENOTSUP' : 'EPIPE', `instance ${instanceId} has no agent that could be asked`);
      return { url: answer.url ?? null, was: answer.was ?? null };
    },
    async profile({ instanceId, question, timeoutMs }) {
      const child = await living(known, instanceId);
      const answer = await answered(child, { ...question, act: 'profile' }, timeoutMs);
      if (!answer) throw new KeeperError(child.mode === 'exec' ? 'ENOTSUP' : 'EPIPE', `instance ${instanceId} has no agent that could be asked`);
      const { failure = null, bytes = 0, stack = null } = answer;
      return { failure, bytes, stack };
    },
  };
}
