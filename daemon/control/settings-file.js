import { statSync } from 'node:fs';
import { NclustError } from '../../lib/shared/errors.js';
import { isLocal, parseListen } from '../../lib/shared/settings/listen-address.js';
import { replaceFile } from '../../lib/shared/host/replace-file.js';
import { readNotifySettings } from '../../lib/shared/settings/notify-keys.js';
import {
  checkKey,
  checkSetting,
  readSettings,
  readSettingsFile,
  readSettingsText,
} from '../../lib/shared/settings/rules.js';
import { canCompress, checkCompression } from './logs/archive/compression.js';
import { notWritten } from './state/durable-file.js';

/** @import { Settings } from './context.js' */

/** How often the file is checked for edits. */
const LOOK_EVERY_MS = 1_000;

/**
 * @param {string} file
 * @param {() => number} nowMs
 * @returns {Settings}
 */
export function createSettings(file, nowMs) {
  let read = readSettings(null);
  /** Made of `read`. @type {{ of: object, receivers: ReturnType<Settings['notify']> } | null} */
  let notify = null;
  let stamp = '';
  let lookedAtMs = -Infinity;

  function look() {
    if (Math.abs(nowMs() - lookedAtMs) < LOOK_EVERY_MS) return read;
    lookedAtMs = nowMs();
    const now = readStamp(file);
    if (now !== stamp) read = readFile(file);
    stamp = now;
    return read;
  }

  /** @returns {Record<string, unknown>}  Includes unknown keys, which must not be removed. */
  function contents() {
    lookedAtMs = -Infinity;
    const { broken } = readFile(file);
    if (broken === null) return JSON.parse(readSettingsText(file) ?? '{}');
    throw new NclustError('ERR_NCLUST_SETTINGS_FILE', `The settings in "${file}" cannot be changed: ${broken}.`, {
      hint: 'Fix the file or move it away; nothing was changed.',
    });
  }

  /** @param {Record<string, unknown>} record */
  function write(record) {
    try {
      replaceFile(file, `${JSON.stringify(record, null, 2)}\n`);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      const what = `The settings could not be written to "${file}" (${code ?? message}); nothing was changed.`;
      throw notWritten('ERR_NCLUST_SETTINGS_FILE', what, error);
    }
    lookedAtMs = -Infinity;
  }

  return {
    entries: () => look().given,
    set(key, text) {
      checkSetting(key, text);
      if (key === 'logs.compress') checkCompression(text);
      if (key === 'metrics.listen' || key === 'web.listen')
        checkReach(
          key,
          text,
          look().values[key === 'web.listen' ? 'web.allow_remote' : 'metrics.allow_remote'] === 'true',
        );
      write({ ...contents(), [key]: text });
    },
    unset(key) {
      const record = contents();
      const wasSet = Object.hasOwn(record, key);
      if (wasSet) write(Object.fromEntries(Object.entries(record).filter(([other]) => other !== key)));
      else checkKey(key);
      return wasSet;
    },
    limitsOf(given) {
      const { values } = look();
      return {
        maxSizeBytes: limit(given?.maxSizeBytes) ?? values['logs.max_size'],
        interval: given?.interval ?? values['logs.interval'],
        maxFiles: given?.maxFiles ?? values['logs.max_files'],
        maxAgeMs: limit(given?.maxAgeMs) ?? values['logs.max_age'],
        maxTotalBytes: limit(given?.maxTotalBytes) ?? values['logs.max_app_total'],
        compress: possible(given?.compress ?? values['logs.compress']),
        homeMaxTotalBytes: values['logs.max_total'],
      };
    },
    metrics() {
      const { values } = look();
      return {
        listen: values['metrics.listen'],
        allowRemote: values['metrics.allow_remote'] === 'true',
        otlp: values['metrics.otlp'],
        otlpIntervalMs: values['metrics.otlp_interval'],
      };
    },
    troubles: () => ({ areFramesTaken: look().values['troubles.frames'] === 'true' }),
    web() {
      const { values } = look();
      return {
        listen: values['web.listen'],
        mayAct: values['web.actions'] === 'true',
        allowRemote: values['web.allow_remote'] === 'true',
      };
    },
    notify() {
      const of = look();
      const receivers = () => (of.broken === null ? readNotifySettings(of.given) : null);
      if (notify?.of !== of) notify = { of, receivers: receivers() };
      return notify.receivers;
    },
    notices() {
      const { broken, problems } = look();
      if (broken !== null) return [`The settings in "${file}" are ignored, because ${broken}; the defaults are used.`];
      return problems.map((problem) => `In the settings "${file}" ${problem}.`);
    },
  };
}

/**
 * Refuses an address that other machines can reach, because the metrics need no password, and the
 * traffic of the dashboard is not encrypted.
 * @param {'metrics.listen' | 'web.listen'} key
 * @param {string} text
 * @param {boolean} allowRemote
 */
function checkReach(key, text, allowRemote) {
  const target = parseListen(text);
  if (!target || allowRemote || isLocal(target)) return;
  const [why, own] =
    key === 'web.listen'
      ? ['its traffic is not encrypted', '127.0.0.1:9616']
      : ['no password is asked for there', '127.0.0.1:9615'];
  throw new NclustError(
    'ERR_NCLUST_BAD_SETTING',
    `"${key}" cannot be "${text}": other machines could reach that address, and ${why}.`,
    {
      hint:
        `Use an address of this machine only (${own}), or allow it first: nclust set ` +
        `${key.replace('listen', 'allow_remote')} true`,
      data: { key },
    },
  );
}

/** @param {string} file */
function readFile(file) {
  const isPossible = (/** @type {string} */ key, /** @type {unknown} */ value) =>
    key !== 'logs.compress' || canCompress(String(value));
  return readSettingsFile(file, isPossible);
}

/**
 * @param {string} file
 * @returns {string}  Changes whenever the file changes. Empty: there is no file.
 */
function readStamp(file) {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : '';
  } catch (error) {
    return String(error); // readFile() will report the reason.
  }
}

/** @param {number | null | undefined} given */
function limit(given) {
  return given === 0 ? Infinity : given;
}

/**
 * Returns `gzip` if this Node.js has no zstd. When the app was started, the manager may have run on
 * a later Node.js, which had zstd.
 * @param {'gzip' | 'zstd' | 'none'} compress
 */
function possible(compress) {
  return canCompress(compress) ? compress : 'gzip';
}
