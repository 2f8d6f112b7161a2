import { setTimeout as pause } from 'node:timers/promises';
import Fastify from 'fastify';

const fastify = Fastify();

fastify.get('/', () => ({ pid: process.pid }));

fastify.get('/slow', async (request) => {
  await pause(Number(request.query.ms));
  return { pid: process.pid };
});

await fastify.listen({ port: Number(process.env.PORT), host: '0.0.0.0' });
