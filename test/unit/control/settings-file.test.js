import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSettings } from '../../../daemon/control/settings-file.js';
import { createFakeClock } from '../../helpers/fake-clock.js';
import { pattern } from '../../helpers/pattern.js';

/**
 * If the tests run as root, a child process becomes this user, because file modes do not restrict
 * root.
 */
const NOBODY = 65_534;

const DEFAULTS = {
  maxSizeBytes: 10 * 1024 ** 2,
  interval: 'never',
  maxFiles: 10,
  maxAgeMs: Infinity,
  maxTotalBytes: 200 * 1024 ** 2,
  compress: 'gzip',
  homeMaxTotalBytes: 2 * 1024 ** 3,
};

let folder;
let file;
let clock;
let settings;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-settings-'));
  file = join(folder, 'settings.json');
  clock = createFakeClock();
  settings = createSettings(file, clock.nowMs);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('defaults apply without a file', () => {
  expect(settings.limitsOf(null)).toEqual(DEFAULTS);
  expect(settings.limitsOf({})).toEqual(DEFAULTS);
  expect([settings.entries(), settings.notices()]).toEqual([{}, []]);
});

test('a set value applies at once, is stored as it was written, and only its owner can read it', () => {
  settings.set('logs.max_size', '1.5mb');
  settings.set('logs.max_files', '3');
  expect(settings.limitsOf(null)).toEqual({ ...DEFAULTS, maxSizeBytes: 1.5 * 1024 ** 2, maxFiles: 3 });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ 'logs.max_size': '1.5mb', 'logs.max_files': '3' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['settings.json']);
  expect(createSettings(file, clock.nowMs).limitsOf(null).maxFiles).toBe(3);
});

test('an unset key has its default again', () => {
  settings.set('logs.interval', 'daily');
  expect(settings.unset('logs.interval')).toBe(true);
  expect(settings.unset('logs.interval')).toBe(false);
  expect(settings.limitsOf(null)).toEqual(DEFAULTS);
});

test('an app may override a setting: 0 means no limit, and null means not set', () => {
  settings.set('logs.max_files', '3');
  settings.set('logs.max_size', '0');
  expect(
    settings.limitsOf({
      maxFiles: 7,
      maxAgeMs: 0,
      maxTotalBytes: 5_000,
      maxSizeBytes: null,
      interval: null,
      compress: 'none',
    }),
  ).toEqual({
    ...DEFAULTS,
    maxFiles: 7,
    maxAgeMs: Infinity,
    maxTotalBytes: 5_000,
    maxSizeBytes: Infinity,
    compress: 'none',
  });
  expect(settings.limitsOf({ maxFiles: 0 }).maxFiles).toBe(0);
});

test.each([
  ['logs.max_size', 'big', /"logs.max_size" cannot be "big"; accepted: 0 \(no limit\)/],
  ['logs.max_size', '-1', /accepted/],
  ['logs.max_size', '10', /from 1K/],
  ['logs.max_files', '1.5', /whole number/],
  ['logs.max_files', '99999', /10000/],
  ['logs.max_age', '7 days', /accepted/],
  ['logs.interval', 'yearly', /hourly, daily, weekly, never/],
  ['logs.compress', 'bzip2', /gzip/],
  ['logs.size', '1M', /no setting "logs.size"/],
  ['constructor', '1', /no setting/],
])('the setting %s = %j is refused, and nothing is changed', (key, value, message) => {
  expect(() => settings.set(key, value)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_BAD_SETTING', exitStatus: 2, message: expect.stringMatching(message) }),
  );
  expect(readdirSync(folder)).toEqual([]);
});

test('unset refuses an unknown key, unless it is in the file', () => {
  for (const key of ['logs.colour', '__proto__', 'constructor'])
    expect(() => settings.unset(key)).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_BAD_SETTING' }));
  writeFileSync(file, '{"logs.colour":"red"}');
  expect(settings.unset('logs.colour')).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe('{}\n');
});

test.each([
  ['{"logs.max_size": ', /it is not JSON/],
  ['[]', /it does not contain an object/],
  ['null', /it does not contain an object/],
  ['', /it is not JSON/],
])('a file that contains %j causes a notice, the defaults apply, and it is left alone', (text, why) => {
  writeFileSync(file, text);
  expect(settings.notices()).toEqual([expect.stringMatching(why)]);
  expect(settings.limitsOf(null)).toEqual(DEFAULTS);
  for (const change of [() => settings.set('logs.max_files', '3'), () => settings.unset('logs.max_files')]) {
    expect(change).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_SETTINGS_FILE' }));
  }
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('the valid keys of a partly wrong file apply; the wrong ones are reported, and survive a set', () => {
  writeFileSync(
    file,
    JSON.stringify({
      'logs.max_files': 4,
      'logs.max_size': 'much',
      'logs.max_sice': '5M',
      'logs.interval': ['daily'],
      note: null,
    }),
  );
  expect(settings.limitsOf(null)).toEqual({ ...DEFAULTS, maxFiles: 4 });
  expect(settings.notices()).toHaveLength(4);
  expect(settings.notices().join('\n')).toMatch(
    pattern(
      /"logs.max_size" cannot be "much".*\n/,
      /.*no setting "logs.max_sice" \(Did you mean "logs.max_size"\?\).*\n/,
      /.*"logs.interval" cannot be \["daily"\].*\n/,
      /.*no setting "note"/,
    ),
  );
  settings.set('logs.max_age', '7d');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    'logs.max_files': 4,
    'logs.max_size': 'much',
    'logs.max_sice': '5M',
    'logs.interval': ['daily'],
    note: null,
    'logs.max_age': '7d',
  });
});

test('a manual edit of the file applies a second later', () => {
  expect(settings.limitsOf(null).maxFiles).toBe(10);
  writeFileSync(file, '{"logs.max_files": 2}');
  clock.advance(1_000);
  expect(settings.limitsOf(null).maxFiles).toBe(2);
  rmSync(file);
  clock.advance(1_000);
  expect(settings.limitsOf(null).maxFiles).toBe(10);
});

test('a file that cannot be read or written is reported, and a read never throws', () => {
  mkdirSync(file);
  expect(settings.limitsOf(null)).toEqual(DEFAULTS);
  expect(settings.notices()).toEqual([expect.stringContaining('EISDIR')]);
  rmSync(folder, { recursive: true });
  clock.advance(1_000);
  expect(settings.limitsOf(null)).toEqual(DEFAULTS);
  expect(() => settings.set('logs.max_files', '3')).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_SETTINGS_FILE', message: expect.stringContaining('ENOENT') }),
  );
});

test.runIf(!zlib.createZstdCompress)(
  'zstd is refused if Node.js does not have it, and in the file it causes a notice',
  () => {
    expect(() => settings.set('logs.compress', 'zstd')).toThrow(
      expect.objectContaining({
        code: 'ERR_NCLUST_BAD_SETTING',
        message: expect.stringContaining(process.versions.node),
      }),
    );
    writeFileSync(file, '{"logs.compress":"zstd"}');
    clock.advance(1_000);
    expect(settings.notices()).toEqual([expect.stringContaining('logs.compress')]);
    expect([settings.limitsOf(null).compress, settings.limitsOf({ compress: 'zstd' }).compress]).toEqual([
      'gzip',
      'gzip',
    ]);
  },
);

test('a FIFO in place of the file is reported, and does not block', () => {
  execFileSync('mkfifo', [file]);
  expect(inChild('console.log(settings.notices().join())')).toMatch(/cannot be read \(it is not a file\)/);
});

test('a file that became unreadable is reported to a client that changes a setting', () => {
  if (process.getuid() === 0) chownSync(folder, NOBODY, NOBODY);
  // Changes the user after the import, because other users may not be able to enter the checkout.
  const becomeNobody =
    `if (process.getuid() === 0) { process.setgroups([]); process.setgid(${NOBODY}); ` + `process.setuid(${NOBODY}); }`;
  const script =
    `${becomeNobody} settings.set('logs.max_files', '3'); settings.notices(); ` +
    `fs.chmodSync(${JSON.stringify(file)}, 0); try { settings.set('logs.max_files', '4'); } catch (error) { ` +
    `console.log(error.code, error.message); }`;
  expect(inChild(script)).toMatch(/^ERR_NCLUST_SETTINGS_FILE .*cannot be read \(EACCES\)/);
});

/** Uses a child process, because the script may hang or change the user of its process. */
function inChild(script) {
  const module = new URL('../../../daemon/control/settings-file.js', import.meta.url).href;
  const program =
    `import(${JSON.stringify(module)}).then(({ createSettings }) => { const settings = ` +
    `createSettings(${JSON.stringify(file)}, Date.now); ${script} })`;
  return execFileSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 30_000, cwd: '/' });
}
