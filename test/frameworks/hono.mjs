import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const app = new Hono();

app.get('/', (context) => context.json({ pid: process.pid }));

app.get('/slow', async (context) => {
  await pause(Number(context.req.query('ms')));
  return context.json({ pid: process.pid });
});

serve({ fetch: app.fetch, port: Number(process.env.PORT) });
