import { execFileSync } from 'node:child_process';
import {
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  closeSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
  mkdirSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { createAppLogs } from '../../../../daemon/control/logs/app-logs.js';

let folder;
let place;
let clock;
let appLogs;
let open;
let archive;
let limits;
let shipped;
let retargeted;
let errors;
let out;
let err;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-logs-'));
  const pipes = [join(folder, 'p-out'), join(folder, 'p-err')];
  execFileSync('mkfifo', pipes);
  // Opens the pipes with O_RDWR, as the keeper does, so that the reader never sees their end.
  [out, err] = pipes.map((pipe) => openSync(pipe, constants.O_RDWR));
  place = {
    instanceId: 'i',
    id: 3,
    user: null,
    name: 'api',
    outPipe: pipes[0],
    errPipe: pipes[1],
    outFile: join(folder, 'logs/api-out.log'),
    errorFile: join(folder, 'logs/api-error.log'),
    logFile: '',
    logType: 'raw',
    logDateFormat: null,
    isMuted: false,
    overflow: 'block',
    rateLimitBytes: 0,
    ship: [],
    limits: {},
  };
  clock = createFakeClock();
  shipped = [];
  retargeted = [];
  errors = [];
  limits = { maxSizeBytes: 1_000_000, interval: 'never' };
  archive = {
    held: new Map(),
    rotations: 0,
    acquire: (path, given, app) => archive.held.set(path, { given, app }),
    release: (path) => archive.held.delete(path),
    rotated: () => (archive.rotations += 1),
    grew() {},
    flushed: [],
    notices: () => [],
    flush: (files) => archive.flushed.push(...files.map((file) => file.path)),
  };
  const shippers = {
    send: ({ id, ship }, stream, chunk) => shipped.push(`${id} ${stream} ${chunk}${ship.length > 1 ? ship : ''}`),
    retarget: ({ ship }) => retargeted.push(ship),
    release() {},
    countersOf: () => [],
    notices: () => [],
  };
  open = () =>
    createAppLogs({
      clock,
      archive,
      limitsOf: () => limits,
      timesFolder: join(folder, 'times'),
      shippers,
      onErrors: (app, chunk) => errors.push(`${app} ${chunk}`),
    });
  appLogs = open();
});
afterEach(() => {
  appLogs.detach('i');
  closeSync(out);
  closeSync(err);
  rmSync(folder, { recursive: true, force: true });
});

const outText = () => readFileSync(place.outFile, 'utf8');

test('the pipes of an ended instance are written to the files byte for byte, for the owner only', () => {
  appLogs.attach(place);
  const bytes = Buffer.from([0xff, 0x00, 0x1b, 0x0a, 0xc3]);
  writeSync(out, bytes);
  appLogs.detach('i');
  expect(readFileSync(place.outFile)).toEqual(bytes);
  expect(statSync(place.outFile).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'logs')).mode & 0o777).toBe(0o700);
});

test('output from before control started is read too', () => {
  writeSync(out, 'early\n');
  appLogs.attach(place);
  appLogs.drain('i');
  expect(outText()).toBe('early\n');
});

test('followers receive each line without a request, cut at line ends and never inside a character', async () => {
  appLogs.attach(place);
  const entries = [];
  const arrived = new Promise((resolve) => {
    appLogs.follow({
      wants: (slot, stream) => slot.name === 'api' && stream === 'out',
      take: (more) => entries.push(...more) > 2 && resolve(),
    });
  });
  writeSync(err, 'not wanted\n');
  for (const part of [Buffer.from('one\r\ntw'), Buffer.from('ö\nthr').subarray(0, 1)]) {
    writeSync(out, part);
    appLogs.drain('i');
  }
  writeSync(out, Buffer.concat([Buffer.from('ö\nthr').subarray(1), Buffer.from('ee\n')]));
  await arrived;
  expect(entries).toEqual(
    ['one', 'twö', 'three'].map((line) => ({ id: 3, name: 'api', stream: 'out', line, atMs: clock.nowMs() })),
  );
});

test('a line without an end is delivered when the instance has exited', () => {
  appLogs.attach(place);
  const lines = [];
  appLogs.follow({ wants: () => true, take: (more) => lines.push(...more.map(({ line }) => line)) });
  writeSync(out, 'no end');
  appLogs.detach('i');
  expect(lines).toEqual(['no end']);
});

test('a follower that has left gets nothing', () => {
  appLogs.attach(place);
  const lines = [];
  const end = appLogs.follow({ wants: () => true, take: (more) => lines.push(...more) });
  end();
  writeSync(out, 'x\n');
  appLogs.drain('i');
  expect(lines).toEqual([]);
});

test('all output on stderr is passed on to be counted, even above the rate limit', () => {
  appLogs.attach({ ...place, rateLimitBytes: 10 });
  writeSync(out, 'no error\n');
  writeSync(err, 'one\nfar too long\n');
  appLogs.drain('i');
  expect(errors).toEqual(['api one\nfar too long\n']);
});

test('drain returns the last lines of stderr: at most 4 KiB', () => {
  appLogs.attach(place);
  writeSync(err, Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join(''));
  expect(appLogs.drain('i')).toEqual(Array.from({ length: 30 }, (_, at) => `line ${at}`));
  writeSync(err, `${'x'.repeat(5_000)}\nlast`);
  const lines = appLogs.drain('i');
  expect(lines).toEqual(['last']);
});

test('two instances can share a file', () => {
  appLogs.attach(place);
  appLogs.attach({ ...place, instanceId: 'j', outPipe: place.errPipe, errPipe: null });
  writeSync(out, 'a\n');
  appLogs.drain('i');
  appLogs.detach('i');
  writeSync(err, 'b\n');
  appLogs.detach('j');
  expect(outText()).toContain('a\n');
  expect(outText()).toContain('b\n');
});

test('output that cannot be written is dropped, counted and reported, and writing resumes afterwards', () => {
  const blocked = join(folder, 'blocked');
  writeFileAsFolder(blocked);
  appLogs.attach({ ...place, outFile: blocked });
  writeSync(out, 'one\ntwo\n');
  appLogs.drain('i');
  expect(appLogs.notices(() => true)).toEqual([
    expect.stringMatching(/2 lines \(8 bytes\).*EISDIR.*nclust keeps trying/),
  ]);
  rmSync(blocked, { recursive: true });
  clock.advance(1_001);
  writeSync(out, 'three\n');
  appLogs.drain('i');
  expect(readFileSync(blocked, 'utf8')).toBe('three\n');
  expect(appLogs.notices(() => true)).toEqual([expect.stringContaining('the file is being written again')]);
});

test('a loss is reported for an hour, and no longer as ongoing when the instance has exited', () => {
  const blocked = join(folder, 'blocked');
  writeFileAsFolder(blocked);
  appLogs.attach({ ...place, outFile: blocked });
  writeSync(out, 'one\n');
  appLogs.detach('i');
  expect(appLogs.notices(() => true)).toEqual([expect.stringMatching(/1 lines \(4 bytes\).*are lost\.$/)]);
  clock.advance(3_600_001);
  expect(appLogs.notices(() => true)).toEqual([]);
});

test('a loss is no longer reported when its app is deleted', () => {
  appLogs.attach({ ...place, outFile: '/dev/full' });
  writeSync(out, 'one\n');
  appLogs.drain('i');
  expect(appLogs.notices(() => false)).toHaveLength(1);
  appLogs.detach('i');
  expect(appLogs.notices((name) => name === 'api')).toHaveLength(1);
  expect(appLogs.notices((name) => name !== 'api')).toEqual([]);
});

test('a full device costs only lines', () => {
  appLogs.attach({ ...place, outFile: '/dev/full' });
  writeSync(out, 'one\n');
  expect(appLogs.drain('i')).toEqual([]);
  expect(appLogs.notices(() => true)[0]).toContain('ENOSPC');
});

test('the output of an app without a log file is read, because the app would block', () => {
  appLogs.attach({ ...place, outFile: '' });
  const lines = [];
  appLogs.follow({ wants: () => true, take: (more) => lines.push(...more) });
  writeSync(out, 'x\n');
  appLogs.drain('i');
  expect(lines).toHaveLength(1);
});

test('a pipe that cannot be opened is retried until it can', () => {
  const late = join(folder, 'loop/late');
  // ENOTDIR is easier to cause than EMFILE, and has the same effect.
  closeSync(openSync(join(folder, 'loop'), 'w'));
  appLogs.attach({ ...place, outPipe: late });
  expect(appLogs.notices(() => true)).toEqual([expect.stringContaining('cannot be opened')]);
  rmSync(join(folder, 'loop'));
  mkdirSync(join(folder, 'loop'));
  execFileSync('mkfifo', [late]);
  clock.advance(600);
  expect(appLogs.notices(() => true)).toEqual([]);
});

function writeFileAsFolder(path) {
  mkdirSync(path);
}

test('the combined file has whole lines of both streams', () => {
  appLogs.attach({ ...place, logFile: join(folder, 'logs/api.log') });
  writeSync(out, 'half of ');
  appLogs.drain('i');
  writeSync(err, 'an error\n');
  appLogs.drain('i');
  writeSync(out, 'a line\nno end');
  appLogs.detach('i');
  expect(readFileSync(join(folder, 'logs/api.log'), 'utf8')).toBe('an error\nhalf of a line\nno end\n');
  expect(outText()).toBe('half of a line\nno end');
});

test('followers get the lines of an app with only a combined file, with their positions in it', () => {
  const logFile = join(folder, 'logs/api.log');
  const lines = [];
  const marks = [];
  appLogs.follow({
    wants: () => true,
    take: (more, mark) => (
      lines.push(...more.map(({ stream, line }) => `${stream} ${line}`)),
      marks.push([mark?.path, mark?.offset])
    ),
  });
  appLogs.attach({ ...place, outFile: '', errorFile: '', logFile });
  writeSync(out, 'one\nhalf ');
  appLogs.drain('i');
  writeSync(err, 'an error\n');
  appLogs.drain('i');
  writeSync(out, 'a line\nno end');
  appLogs.detach('i');
  expect(lines).toEqual(['out one', 'err an error', 'out half a line', 'out no end']);
  expect(marks).toEqual([4, 13, 25, 32].map((offset) => [logFile, offset]));
  expect(readFileSync(logFile, 'utf8')).toHaveLength(32);
});

test('the log has dates or records as the app wants, and followers get both with their positions', () => {
  const lines = [];
  const marks = [];
  appLogs.follow({
    wants: () => true,
    take: (more, mark) => (lines.push(...more.map(({ line }) => line)), marks.push(mark)),
  });
  appLogs.attach({ ...place, logDateFormat: 'YYYY' });
  appLogs.attach({
    ...place,
    instanceId: 'j',
    outPipe: place.errPipe,
    errPipe: null,
    outFile: join(folder, 'logs/json.log'),
    logType: 'json',
  });
  writeSync(out, 'dated\n');
  appLogs.drain('i');
  writeSync(err, 'record\n');
  appLogs.drain('j');
  expect(outText()).toMatch(/^\d{4}: dated\n$/);
  expect(JSON.parse(readFileSync(join(folder, 'logs/json.log'), 'utf8'))).toMatchObject({
    message: 'record',
    type: 'out',
    process_id: 3,
    app_name: 'api',
  });
  expect(lines).toEqual([expect.stringMatching(/: dated$/), expect.stringContaining('"record"')]);
  expect(marks.at(0)).toMatchObject({ path: place.outFile, offset: outText().length });
});

test('an unfinished line is written when control exits', () => {
  appLogs.attach({ ...place, logType: 'json', logFile: join(folder, 'logs/api.log') });
  writeSync(out, 'half');
  appLogs.drain('i');
  appLogs.close();
  appLogs.close();
  expect([
    JSON.parse(outText()).message,
    readFileSync(join(folder, 'logs/api.log'), 'utf8').split('\n').length,
  ]).toEqual(['half', 2]);
});

test('muted output is read and dropped', () => {
  const lines = [];
  appLogs.follow({ wants: () => true, take: (more) => lines.push(...more) });
  appLogs.attach({ ...place, outFile: '', errorFile: '', isMuted: true });
  writeSync(out, 'x\n');
  appLogs.drain('i');
  expect(lines).toEqual([]);
});

test('lines above the rate limit are lost, counted and reported', () => {
  appLogs.attach({ ...place, rateLimitBytes: 1024 });
  writeSync(out, `${'x'.repeat(1_000)}\ntoo much, too much, too much\n`);
  appLogs.drain('i');
  expect(outText()).toBe(`${'x'.repeat(1_000)}\n`);
  expect([appLogs.describe('i', 'api'), appLogs.notices(() => true)]).toEqual([
    { logLost: { lines: 1, bytes: 29, reason: 'the rate limit' }, shipping: [] },
    ['1 lines (29 bytes) of "api" exceeded its log rate limit and are lost.'],
  ]);
});

test('every chunk reaches the shippers', () => {
  appLogs.attach({ ...place, ship: ['exec:cat'] });
  writeSync(out, 'x\n');
  writeSync(err, 'y\n');
  appLogs.drain('i');
  expect(shipped).toEqual(['3 out x\n', '3 err y\n']);
});

test('an existing file is opened before the first read, so that output can be written at once', () => {
  mkdirSync(join(folder, 'logs'));
  writeFileSync(place.outFile, 'old\n');
  appLogs.attach(place);
  expect([appLogs.positionOf(place.outFile)?.offset, appLogs.positionOf(place.errorFile)]).toEqual([4, null]);
});

test('an adopted instance continues its unfinished line, and a new instance begins a line', () => {
  mkdirSync(join(folder, 'logs'));
  writeFileSync(place.outFile, 'old\nbeg');
  const lines = [];
  appLogs.follow({ wants: () => true, take: (entries) => lines.push(...entries.map(({ line }) => line)) });
  for (const [isAdopted, text] of [
    [true, 'un\nhalf'],
    [false, 'new\n'],
  ]) {
    appLogs.attach(place, isAdopted);
    writeSync(out, text);
    appLogs.detach('i');
  }
  expect(lines).toEqual(['begun', 'half', 'new']);
});

test('a follower gets an unfinished line once, and whole, if another control continues it', () => {
  const lines = [];
  const marks = [];
  const follower = {
    wants: () => true,
    take: (entries, mark) => {
      lines.push(...entries.map(({ line }) => line));
      marks.push(mark.offset);
    },
  };
  appLogs.follow(follower);
  appLogs.attach(place);
  writeSync(out, 'one\nthr');
  appLogs.drain('i');
  appLogs.close();
  appLogs = open();
  appLogs.attach(place, true);
  expect([marks, appLogs.heldFrom().get(place.outFile).offset]).toEqual([[4], 4]);
  appLogs.follow(follower);
  writeSync(out, 'ee\n');
  appLogs.drain('i');
  expect(lines).toEqual(['one', 'three']);
});

test('a full file is rotated, and the archive is notified', () => {
  limits.maxSizeBytes = 8;
  appLogs.attach({ ...place, limits: { maxFiles: 2 } });
  expect(archive.held.get(place.outFile)).toEqual({ given: { maxFiles: 2 }, app: 'api' });
  writeSync(out, 'one\ntwo\nthree\n');
  appLogs.drain('i');
  expect([archive.rotations, appLogs.positionOf(place.outFile)?.offset, appLogs.positionOf(place.errorFile)]).toEqual([
    1,
    0,
    null,
  ]);
  appLogs.detach('i');
  expect(archive.held.size).toBe(0);
});

test('flush empties files, even unused ones, and the archive removes their segments', async () => {
  const other = join(folder, 'logs/other.log');
  appLogs.attach(place);
  writeSync(out, 'old\n');
  appLogs.drain('i');
  writeFileSync(other, 'old');
  await appLogs.flush([place.outFile, other, join(folder, 'logs/none.log')].map(owned));
  writeSync(out, 'new\n');
  appLogs.drain('i');
  expect([outText(), readFileSync(other, 'utf8'), archive.flushed]).toEqual([
    'new\n',
    '',
    [place.outFile, other, join(folder, 'logs/none.log')],
  ]);
});

test('a new instance changes the limits of a shared file', () => {
  appLogs.attach(place);
  appLogs.attach({ ...place, instanceId: 'j', outPipe: null, errPipe: null, limits: { maxFiles: 1 } });
  appLogs.detach('j');
  expect(archive.held.get(place.outFile)).toEqual({ given: { maxFiles: 1 }, app: 'api' });
});

test('a new place applies to all later output, to the byte', () => {
  const moved = { ...place, outFile: join(folder, 'logs/moved.log') };
  appLogs.attach(place);
  writeSync(out, 'one\n');
  appLogs.attach(moved);
  writeSync(out, 'two\n');
  appLogs.drain('i');
  expect([outText(), readFileSync(moved.outFile, 'utf8')]).toEqual(['one\n', 'two\n']);
  expect([...archive.held.keys()].sort()).toEqual([place.errorFile, moved.outFile].sort());
  appLogs.attach(place);
  writeSync(out, 'three\n');
  appLogs.drain('i');
  expect(outText()).toBe('one\nthree\n');
  appLogs.detach('i');
  expect(archive.held.size).toBe(0);
});

test('new limits change how files are kept, and nothing about the lines', () => {
  const lines = [];
  appLogs.attach({ ...place, limits: { maxFiles: 2 } });
  appLogs.follow({ wants: () => true, take: (more) => lines.push(...more.map(({ line }) => line)) });
  writeSync(out, 'be');
  appLogs.attach({ ...place, limits: { maxFiles: 1 }, ship: ['exec:cat', 'exec:tee'] });
  writeSync(out, 'gun\n');
  appLogs.drain('i');
  expect([lines, outText(), archive.held.get(place.outFile)]).toEqual([
    ['begun'],
    'begun\n',
    { given: { maxFiles: 1 }, app: 'api' },
  ]);
  expect([retargeted, shipped.at(-1)]).toEqual([[['exec:cat', 'exec:tee']], '3 out gun\nexec:cat,exec:tee']);
});

test('a new format starts with a new line, and the end of stderr is still remembered', () => {
  appLogs.attach({ ...place, logType: 'json' });
  writeSync(out, 'half');
  writeSync(err, 'last words\n');
  appLogs.attach({ ...place, rateLimitBytes: 1024 });
  writeSync(out, 'other half\n');
  expect(appLogs.drain('i')).toEqual(['last words']);
  const [first, second] = outText().split('\n');
  expect([JSON.parse(first).message, second]).toEqual(['half', 'other half']);
});

test('losses to a rate limit are reported after the limit is removed', () => {
  appLogs.attach({ ...place, rateLimitBytes: 1024 });
  writeSync(out, `${'x'.repeat(1_000)}\ntoo much, too much, too much\n`);
  appLogs.attach(place);
  writeSync(out, `${'y'.repeat(5_000)}\n`);
  appLogs.drain('i');
  expect([outText().length, appLogs.describe('i', 'api').logLost]).toEqual([
    1_001 + 5_001,
    { lines: 1, bytes: 29, reason: 'the rate limit' },
  ]);
});

test('one file that cannot be emptied does not stop the others', async () => {
  const blocked = join(folder, 'blocked');
  writeFileAsFolder(blocked);
  appLogs.attach(place);
  writeSync(out, 'one\n');
  appLogs.drain('i');
  await expect(appLogs.flush([blocked, place.outFile].map(owned))).rejects.toMatchObject({ code: 'EISDIR' });
  expect([outText(), archive.flushed]).toEqual(['', [place.outFile]]);
});

const owned = (path) => ({ path, user: null });

test('the lines of Node.js about its inspector are hidden on request, and the other lines stay', () => {
  appLogs.attach(place);
  const urls = [];
  const show = appLogs.hideInspector('i', (url) => urls.push(url));
  const url = 'ws://127.0.0.1:40421/ccb00511-ea20-4d6a-9fe1-31fdc5dad1f9';
  const help = 'For help, see: https://nodejs.org/en/docs/inspector\n';
  writeSync(err, `one\nDebugger listening on ${url}\n`);
  appLogs.drain('i');
  writeSync(err, `${help}Debugger attached.\ntwö\nDebugger ending on ${url}\n${help}`);
  appLogs.drain('i');
  expect(urls).toEqual([url]);
  show();
  writeSync(err, 'Debugger attached.\n');
  appLogs.drain('i');
  expect(readFileSync(place.errorFile, 'utf8')).toBe('one\ntwö\nDebugger attached.\n');
});

test('an address of another machine is not taken for that of the inspector', () => {
  appLogs.attach(place);
  const urls = [];
  appLogs.hideInspector('i', (url) => urls.push(url));
  for (const url of ['ws://192.0.2.1:9229/x', 'ws://127.0.0.1:1/../x', 'ws://127.0.0.1:1/'])
    writeSync(err, `Debugger listening on ${url}\n`);
  appLogs.drain('i');
  expect(urls).toEqual([]);
});
