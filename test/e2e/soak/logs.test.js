import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { readSegments } from '../../../daemon/control/logs/archive/segments.js';
import { residentBytes } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';
import { soakScale } from '../../helpers/soak.js';
import { expectLines, writeThroughKills } from '../../helpers/ticks.js';

const MB = 1024 * 1024;
const killCount = Math.ceil(20 * soakScale);

async function digestOf(path) {
  const hash = createHash('sha256');
  const take = async (bytes) => {
    for await (const chunk of bytes) hash.update(chunk);
  };
  for (const { path: segment, compression } of readSegments(path))
    await (compression
      ? pipeline(createReadStream(segment), createGunzip(), take)
      : pipeline(createReadStream(segment), take));
  await pipeline(createReadStream(path), take);
  return hash.digest('hex');
}

function bytesIn(folder) {
  let bytes = 0;
  for (const name of readdirSync(folder)) {
    // Ignores a missing file, because rotation or compression may remove a file at any moment.
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile()) bytes += stat.size;
  }
  return bytes;
}

test(`${1_000 * soakScale} MB through process.stdout arrive byte for byte, with back-pressure`, async () => {
  const home = await sandbox();
  const keepAll = ['--log-max-files', '10000', '--log-max-total', '0'];
  await home.nclust('set', 'logs.max_total', '0');
  await home.nclust('start', home.place('pumps-bytes'), '--no-wait', '--no-autorestart', ...keepAll, {
    env: { TOTAL: String(Math.ceil(1_000 * soakScale) * MB) },
  });
  const slot = await home.waitFor(
    'the program to exit',
    async () => (await home.list()).find((one) => one.status === 'stopped'),
    { deadlineMs: 600_000 },
  );
  const digest = /pumps-bytes digest (\w+)/.exec(readFileSync(slot.errorFile, 'utf8'))?.[1];
  expect(digest).toMatch(/^\w{64}$/);
  await home.waitFor(
    'all full log files to be compressed',
    () => readSegments(slot.outFile).every(({ compression }) => compression !== null),
    { deadlineMs: 120_000 },
  );
  expect(await digestOf(slot.outFile)).toBe(digest);
});

test(`100 MB/s for ${60 * soakScale} s fill at most 100 MB and one file, and control stays below 80 MB`, async () => {
  const home = await sandbox();
  await home.nclust('set', 'logs.max_total', '0');
  const seconds = Math.ceil(60 * soakScale);
  await home.nclust(
    'start',
    home.place('pumps-bytes'),
    '--no-wait',
    '--no-autorestart',
    '--log-max-total',
    '100M',
    '--log-max-files',
    '10000',
    { env: { TOTAL: String(seconds * 100 * MB), RATE: String(100 * MB) } },
  );
  const [{ outFile }] = await home.list();
  const { controlPid } = await home.daemon();
  let mostBytes = 0;
  let mostResident = 0;
  await home.waitFor(
    'the program to exit',
    async () => {
      mostBytes = Math.max(mostBytes, bytesIn(join(outFile, '..')));
      mostResident = Math.max(mostResident, residentBytes(controlPid));
      return (await home.list()).find((one) => one.status === 'stopped');
    },
    { deadlineMs: 600_000 },
  );
  process.stdout.write(
    `at most ${(mostBytes / MB).toFixed(1)} MB on the disk, control ${(mostResident / MB).toFixed(1)} MB\n`,
  );
  expect(mostBytes).toBeLessThanOrEqual((100 + 10) * MB);
  expect(mostResident).toBeLessThan(80 * MB);
});

test(`${killCount} kills of control, 50 rotations and an update lose and repeat no line at 1,000/s`, async () => {
  const { found, expected } = await writeThroughKills(await sandbox(), {
    kills: killCount,
    rotations: 50,
  });
  expectLines(found, expected);
});
