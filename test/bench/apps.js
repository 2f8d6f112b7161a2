import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../helpers/wait-for.js';

// The server creates a file when it listens, because a measurement must not trust a manager.
const IDLE_SERVER = `
const http = require('node:http');
const fs = require('node:fs');
const server = http.createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ pid: process.pid }));
});
server.listen(Number(process.env.PORT), () => fs.writeFileSync(process.env.ARRIVALS + '/' + process.pid, ''));
`;

/** @returns {string} */
export function placeIdleServer(folder) {
  const script = join(folder, 'idle-server.js');
  writeFileSync(script, IDLE_SERVER);
  return script;
}

export function openArrivals(folder) {
  const path = join(folder, `arrivals-${Math.random().toString(36).slice(2)}`);
  mkdirSync(path);
  return {
    path,
    pids: () => readdirSync(path).map(Number),
    until: (count) =>
      waitFor(`${count} processes to listen`, () => readdirSync(path).length >= count, { deadlineMs: 300_000 }),
  };
}
