import http from 'node:http';

// Node.js itself strips types, and cannot run this.
enum Word {
  Hello = 'hello',
}

const server = http.createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ pid: process.pid, word: Word.Hello }));
});
server.listen(Number(process.env.PORT));
