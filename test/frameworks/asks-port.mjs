// Asks the package ASKS which port is free, beginning with PORT, and listens there.
import { createServer } from 'node:http';

const wanted = Number(process.env.PORT);

const WAYS = {
  'detect-port': async () => (await import('detect-port')).detectPort(wanted),
  'get-port': async () => (await import('get-port')).default({ port: wanted }),
  portfinder: async () => (await import('portfinder')).default.getPortPromise({ port: wanted }),
  'tcp-port-used': async () =>
    (await (await import('tcp-port-used')).default.check(wanted, '127.0.0.1')) ? 0 : wanted,
};

createServer((_, response) => response.end(JSON.stringify({ pid: process.pid }))).listen(
  await WAYS[process.env.ASKS](),
);
