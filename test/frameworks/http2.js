// HTTP/2 without TLS, with the stream API.
const http2 = require('node:http2');

const server = http2.createServer();

server.on('stream', (stream, headers) => {
  const { pathname, searchParams } = new URL(headers[':path'], 'http://localhost');
  stream.on('error', () => {}); // The client has left.
  const answer = () => {
    if (stream.destroyed) return;
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end(JSON.stringify({ pid: process.pid }));
  };
  if (pathname === '/slow') setTimeout(answer, Number(searchParams.get('ms')));
  else answer();
});

server.listen(Number(process.env.PORT), () => console.log(`http2 ${process.pid} listens`));
