// A client that uses little CPU time, so that a machine with two cores can measure the server.
// `node hammer.js new|keep-alive PORT CONNECTIONS SECONDS` prints {"requests": N, "failed": N}.
import { connect } from 'node:net';

const [mode, port, connections, seconds] = process.argv.slice(2);
const isNew = mode === 'new';
const REQUEST = `GET / HTTP/1.1\r\nHost: localhost\r\n${isNew ? 'Connection: close\r\n' : ''}\r\n`;
const untilMono = performance.now() + Number(seconds) * 1000;
let requests = 0;
let failed = 0;

await Promise.all(Array.from({ length: Number(connections) }, isNew ? connectAgainAndAgain : askAgainAndAgain));
console.log(JSON.stringify({ requests, failed }));

async function connectAgainAndAgain() {
  while (performance.now() < untilMono) {
    if (await askOnce()) requests += 1;
    else failed += 1;
  }
}

function askOnce() {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    let bytes = 0;
    socket.on('data', (chunk) => (bytes += chunk.length));
    socket.on('end', () => resolve(bytes > 0));
    socket.on('error', () => resolve(false));
    socket.write(REQUEST);
  });
}

function askAgainAndAgain() {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    let rest = '';
    socket.setEncoding('latin1').on('data', (text) => {
      rest += text;
      const headEnd = rest.indexOf('\r\n\r\n');
      if (headEnd === -1 || rest.length < headEnd + 4 + Number(/content-length: (\d+)/i.exec(rest)?.[1])) return;
      rest = '';
      requests += 1;
      if (performance.now() < untilMono) socket.write(REQUEST);
      else socket.end();
    });
    socket.on('error', () => (failed += 1));
    socket.on('close', () => resolve());
    socket.write(REQUEST);
  });
}
