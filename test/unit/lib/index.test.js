import { expect, test } from 'vitest';
import * as api from '../../../lib/index.js';
import { openServer } from './rpc-server.js';

test('the package exports a way in, its error and what a config file begins with, and nothing else', () => {
  expect(Object.keys(api).sort()).toEqual(['NclustError', 'connect', 'defineConfig']);
});

test('connect gives a client that asks the manager of a home', async () => {
  const { home } = await openServer({ list: () => ({ slots: [], notices: [] }) });
  const client = await api.connect({ home });
  expect(await client.request('list')).toEqual({ slots: [], notices: [] });
  await client.close();
});
