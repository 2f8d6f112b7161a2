// An API that answers after a few milliseconds, and logs some of its requests.
import { createServer } from 'node:http';

let served = 0;

createServer((request, response) => {
  served += 1;
  const isBad = served % 400 === 0;
  const until = performance.now() + 1 + (served % 7);
  setTimeout(
    () => {
      while (performance.now() < until + 0.4);
      response.writeHead(isBad ? 503 : 200).end('{}');
      if (served % 40 === 0) console.log(`GET ${request.url} 200 ${(performance.now() - until + 9).toFixed(1)} ms`);
      if (isBad) console.error(`GET ${request.url} 503: the pool of connections is empty`);
    },
    1 + (served % 7),
  );
}).listen(Number(process.env.PORT));
