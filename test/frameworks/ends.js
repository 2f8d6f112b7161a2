// Ends in the way that ENDS names when it gets SIGTERM, and never by process.exit().
'use strict';

const { createServer } = require('node:http');
const { writeFileSync } = require('node:fs');

const server = createServer((_, response) => response.end(JSON.stringify({ pid: process.pid })));

const WAYS = {
  // As in the documentation of Node.js.
  close: () => process.on('SIGTERM', () => server.close()),
  flush: () =>
    process.on('SIGTERM', () => server.close(() => setTimeout(() => writeFileSync(`flushed-${process.pid}`, ''), 300))),
  'http-terminator': () => {
    const { terminate } = require('http-terminator').createHttpTerminator({ server });
    process.on('SIGTERM', () => void terminate());
  },
  stoppable: () => {
    const stoppable = require('stoppable')(server, 1_000);
    process.on('SIGTERM', () => stoppable.stop());
  },
  terminus: () => require('@godaddy/terminus').createTerminus(server, { signals: ['SIGTERM'] }),
};

WAYS[process.env.ENDS]();
server.listen(process.env.PORT);
