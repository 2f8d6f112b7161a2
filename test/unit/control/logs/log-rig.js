import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readSegments } from '../../../../daemon/control/logs/archive/segments.js';
import { createFollowers } from '../../../../daemon/control/logs/followers.js';
import { sendHistory } from '../../../../daemon/control/logs/history/history.js';
import { createTimes } from '../../../../daemon/control/logs/times/times.js';
import { createDisk } from '../../../../daemon/control/logs/write/disk.js';
import { createLogFile } from '../../../../daemon/control/logs/write/log-file.js';
import { readUnfinishedLine } from '../../../../daemon/control/logs/write/open-file.js';

const EVERYTHING = { lines: null, sinceMs: 0, untilMs: Infinity, isWanted: null, cursor: null };

/** The log files and followers of control, without processes and sockets. */
export function createLogRig() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-history-'));
  const timesFolder = join(folder, '.times');
  const rig = {
    folder,
    timesFolder,
    nowMs: Date.now() - 3_600_000,
    maxSizeBytes: 10 * 1024 * 1024,
    followers: createFollowers(() => rig.nowMs),
    files: new Map(),
    sources: new Map(),
    source: { timesFolder, positionOf: (path) => rig.files.get(path)?.position() ?? null, userOf: () => null },

    path: (name) => join(folder, `${name}.log`),
    kept: (name) => ({ path: rig.path(name), user: null, id: 0, name, stream: 'out' }),

    fileAt(path) {
      const place = {
        path,
        user: () => null,
        nowMs: () => rig.nowMs,
        limits: () => ({ maxSizeBytes: rig.maxSizeBytes, interval: 'never' }),
        openTimes: () => createTimes(timesFolder, path, { nowMs: () => rig.nowMs }),
        onRotated: () => {},
      };
      if (!rig.files.has(path))
        rig.files.set(path, createLogFile({ disk: createDisk(() => 0), isDropping: () => false, place }));
      return rig.files.get(path);
    },

    write(name, bytes, writer = name) {
      const path = rig.path(name);
      const source = rig.sources.get(writer) ?? { slot: { id: 0, name }, stream: 'out', path, splitter: null };
      rig.sources.set(writer, source);
      rig
        .fileAt(path)
        .append(Buffer.from(bytes), (part, at) => rig.followers.push(source, part, at && { atMs: rig.nowMs, ...at }));
    },

    segments: (name) => readSegments(rig.path(name)),

    /** As the archive does it: renames the compressed file, then removes the plain one. */
    compress({ path }, toBytes = gzipSync) {
      writeFileSync(`${path}.gz.tmp`, toBytes(readFileSync(path)));
      renameSync(`${path}.gz.tmp`, `${path}.gz`);
      rmSync(path);
    },

    /** Everything in memory is lost, as by SIGKILL. The next control adopts the apps. */
    restart() {
      const paths = [...rig.files.keys()];
      rig.files.clear();
      rig.sources.clear();
      rig.followers = createFollowers(() => rig.nowMs);
      for (const path of paths) {
        rig.fileAt(path).prepare();
        const at = rig.fileAt(path).position();
        rig.followers.begin(path, at, readUnfinishedLine(path, null, at.offset));
      }
    },

    /** `onPage` runs while the server waits for the client. */
    reader(names, onPage = async () => {}) {
      let end = () => {};
      let stop = new AbortController();
      const client = {
        entries: [],
        cursor: null,
        missed: 0,
        missedOf: {},
        gapOf: [],
        gaps: 0,
        lines: (name) => client.entries.filter((entry) => entry.name === name).map(({ line }) => line),
        async look(query = {}, { follow = true } = {}) {
          stop = new AbortController();
          const answer = await sendHistory({
            files: () => names.map(rig.kept),
            query: { ...EVERYTHING, ...query, cursor: client.cursor && JSON.parse(JSON.stringify(client.cursor)) },
            source: rig.source,
            heldFrom: rig.followers.heldFrom,
            nowMs: rig.nowMs,
            signal: stop.signal,
            send: async (page) => {
              take(page);
              await onPage(client);
            },
            sendNow: take,
            attach: !follow
              ? null
              : () => {
                  end = rig.followers.add({
                    wants: () => true,
                    take: (entries, mark) => take({ entries, cursor: mark && { [mark.path]: mark } }),
                  });
                },
          });
          if (!stop.signal.aborted) client.cursor = { ...client.cursor, ...answer.cursor };
          return answer;
        },
        leave() {
          stop.abort();
          end();
        },
      };
      function take({ entries, cursor, missed = 0, missedOf = {}, gap = false, gapOf = [] }) {
        if (stop.signal.aborted) return;
        client.entries.push(...entries);
        client.cursor = { ...client.cursor, ...cursor };
        client.missed += missed;
        for (const name of Object.keys(missedOf)) client.missedOf[name] = (client.missedOf[name] ?? 0) + missedOf[name];
        client.gapOf.push(...gapOf);
        client.gaps += gap ? 1 : 0;
      }
      return client;
    },

    close() {
      for (const file of rig.files.values()) file.close();
      if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
    },
  };
  return rig;
}
