import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { takePort } from '../../../helpers/ports.js';
import { sandbox } from '../../../helpers/sandbox.js';

const GOLDEN = new URL('../../../fixtures/outputs.json', import.meta.url);

/** In the order in which they run. PORT is a free port. */
const COMMANDS = [
  ['start', 'keeps-alive.js', '--name', 'api', '-i', '2', '--min-uptime', '0', '--json'],
  ['start', 'keeps-alive.js', '--name', 'job', '--min-uptime', '0', '--cron', '0 3 * * *', '--json'],
  ['start', 'http-echo.js', '--name', 'web', '-i', '1', '--watch', '--json'],
  ['jlist'],
  ['list', '--json'],
  ['list', '--mini-list'],
  ['id', 'api'],
  ['pid', 'none'],
  ['describe', 'api', '--json'],
  ['env', 'api', '--json'],
  ['scale', 'api', '3', '--json'],
  ['restart', 'job', '--json'],
  ['reload', 'api', '--json'],
  ['reset', 'all', '--json'],
  ['sendSignal', 'SIGWINCH', 'job', '--json'],
  ['stop', 'job', '--json'],
  ['save', '--json'],
  ['set', 'logs.max_size', '20mb', '--json'],
  ['get', '--json'],
  ['unset', 'logs.max_size', '--json'],
  ['flush', 'job', '--json'],
  ['reloadLogs', '--json'],
  ['ping', '--json'],
  ['monit', '--json'],
  ['events', 'job', '--json', '--nostream'],
  ['why', 'job', '--json'],
  ['logs', 'job', '--json', '--nostream'],
  ['trigger', 'api', 'no-such-action', '--json'],
  ['inspect', 'none', '--json'],
  ['start', 'no-such-script.js', '--json'],
  ['stop', 'no-such-app', '--json'],
  ['scale', 'api', 'many', '--json'],
  ['list', '--no-such-option'],
  ['no-such-command'],
  ['set', 'no.such.setting', '1', '--json'],
  ['install', 'pm2-logrotate'],
  ['delete', 'all', '--json'],
  ['list', '--json'],
  ['kill', '--json'],
  ['ping', '--json'],
  ['jlist'],
];

/** Keys of values that differ between two runs or machines. */
const VARIES = new Set(
  (
    'pid pids pm_pid ppid cpu monit memory bytes pm_uptime created_at at port busy history ' +
    'PATH USER LOGNAME LANG user username uid gid env shellEnv effectiveEnv'
  ).split(' '),
);
const MEASURED = /(At|Ms|Bytes|Pid)$/;
/** Keys of sentences for people. */
const PROSE = new Set('message hint help text notices note words reason detail answer'.split(' '));

/**
 * @param {boolean} [isMeasured]  Whether all values except texts vary.
 * @returns {unknown}  The value, with "…" for parts that vary. Keeps the order of keys.
 */
function steady(value, shorten, isMeasured = false) {
  if (typeof value === 'string') return shorten(value);
  if (Array.isArray(value)) return value.map((one) => steady(one, shorten, isMeasured));
  if (typeof value !== 'object' || value === null) return isMeasured ? '…' : value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const isSteady = !PROSE.has(key) && ((!VARIES.has(key) && !MEASURED.test(key)) || one === null);
      if (!isSteady) return [key, '…'];
      return [shorten(key), steady(one, shorten, isMeasured)];
    }),
  );
}

function parsed(stdout) {
  try {
    return JSON.parse(stdout);
  } catch {
    return stdout.split('\n').map((line) => {
      try {
        return JSON.parse(line);
      } catch {
        return line;
      }
    });
  }
}

test('outputs for programs and exit statuses stay the same to the byte', async () => {
  const home = await sandbox();
  const port = String(await takePort());
  for (const fixture of ['keeps-alive', 'http-echo']) home.place(fixture);
  const shorten = (text) =>
    text
      .replaceAll(home.home, '<home>')
      .replaceAll(home.work, '<work>')
      .replaceAll(dirname(home.home), '<sandbox>')
      .replaceAll(port, '<port>')
      .replace(/^pid : \d+$/, 'pid : <number>')
      .replaceAll(process.execPath, '<node>')
      .replaceAll(process.version, '<version>')
      .replaceAll(process.version.slice(1), '<version>')
      .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}(\.[0-9a-f]{16})?\b/g, '<uuid>')
      .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z?/g, '<time>')
      .replace(/\d+(\.\d+)?(mb|kb|gb|%|s|ms|m)\b/g, '<number>');
  const found = [];
  for (const words of COMMANDS) {
    const { stdout, exitStatus } = await home.nclust(...words, { env: { PORT: port } });
    found.push({ command: words.join(' '), exitStatus, stdout: steady(parsed(stdout), shorten, words[0] === 'monit') });
  }
  if (process.env.NCLUST_WRITE_GOLDEN) writeFileSync(GOLDEN, `${JSON.stringify(found, null, 1)}\n`);
  const golden = JSON.parse(readFileSync(GOLDEN, 'utf8'));
  for (const [nth, { command, ...result }] of found.entries())
    expect
      .soft(JSON.stringify(result, null, 1), command)
      .toBe(JSON.stringify({ ...golden[nth], command: undefined }, null, 1));
});
