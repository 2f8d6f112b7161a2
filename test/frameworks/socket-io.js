// As in its guide, sessions begin with polling and are upgraded.
const http = require('node:http');
const { Server } = require('socket.io');

const server = http.createServer((request, response) => response.end(JSON.stringify({ pid: process.pid })));
const io = new Server(server);

io.on('connection', (socket) => {
  socket.on('say', (message, answer) => answer({ pid: process.pid, message, transport: socket.conn.transport.name }));
});

server.listen(Number(process.env.PORT), () => console.log(`socket-io ${process.pid} listens`));
