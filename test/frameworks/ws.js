// ws on an HTTP server: greets with its pid, then echoes.
const http = require('node:http');
const { WebSocketServer } = require('ws');

const server = http.createServer((request, response) => response.end(JSON.stringify({ pid: process.pid })));
const sockets = new WebSocketServer({ server });

sockets.on('connection', (socket) => {
  socket.send(JSON.stringify({ pid: process.pid }));
  socket.on('message', (data) => socket.send(data.toString()));
});

server.listen(Number(process.env.PORT), () => console.log(`ws ${process.pid} listens`));
