import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { answerInTurn } from '../../../../lib/shared/answer-in-turn.js';
import { waitFor } from '../../../helpers/wait-for.js';

async function serve(answer) {
  const faults = [];
  const server = createServer(
    answerInTurn(answer, (error, _request, response) => {
      faults.push(error.message);
      response.writeHead(500, { 'content-length': 0 }).end();
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: server.address().port, faults };
}

function open(port) {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (part) => (text += part)).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return { socket, text: () => text };
}

const get = (path) => `GET /${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const many = (count) => Array.from({ length: count }, (_, at) => get(at)).join('');

test.each([
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
])('an answer that %s is reported, and the next request on the connection is answered', async (_what, fail) => {
  const { port, faults } = await serve((request, response) => (request.url === '/0' ? fail() : response.end('fine')));
  const { socket, text } = open(port);
  socket.write(many(2));
  await waitFor('both answers', () => text().includes('fine'));
  expect(text()).toMatch(/^HTTP\/1.1 500 .*HTTP\/1.1 200 /s);
  expect(faults).toEqual(['broken']);
});

test('requests of one packet are answered one at a time, in their order', async () => {
  let running = 0;
  let most = 0;
  const { port } = await serve((request, response) => {
    running += 1;
    most = Math.max(most, running);
    response.once('close', () => (running -= 1)).end(`[${request.url}]`);
  });
  const { socket, text } = open(port);
  socket.write(many(30));
  await waitFor('the last answer', () => text().includes('[/29]'));
  expect(text().match(/\[\/\d+\]/g)).toEqual(Array.from({ length: 30 }, (_, at) => `[/${at}]`));
  expect(most).toBe(1);
});

test('two connections are answered at the same time', async () => {
  const responses = [];
  const { port } = await serve((_request, response) => void responses.push(response));
  for (const { socket } of [open(port), open(port)]) socket.write(get(0));
  await waitFor('both requests', () => responses.length === 2);
});

test('waiting requests are dropped when their connection ends', async () => {
  const asked = [];
  const { port } = await serve((request, response) => {
    asked.push(request.url);
    if (request.url === '/last') response.end();
  });
  const { socket } = open(port);
  socket.write(many(20));
  await waitFor('the first request', () => asked.length > 0);
  socket.destroy();
  const next = open(port);
  next.socket.write(get('last'));
  await waitFor('its answer', () => next.text() !== '');
  expect(asked).toEqual(['/0', '/last']);
});

test('a connection with more than 32 waiting requests is closed', async () => {
  const asked = [];
  const { port } = await serve((request) => void asked.push(request.url));
  const { socket } = open(port);
  const closed = once(socket, 'close');
  socket.write(many(33));
  await waitFor('the first request', () => asked.length > 0);
  expect(socket.destroyed).toBe(false);
  socket.write(get('one-more'));
  await closed;
  expect(asked).toEqual(['/0']);
});
