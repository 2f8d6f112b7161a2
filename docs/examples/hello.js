// A web server as anybody writes it: nothing in it knows of nclust.
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  response.end(`Hello from process ${process.pid}\n`);
});

server.listen(process.env.PORT ?? 3000, () => console.log(`listening on ${server.address().port}`));
