// For a Node that runs TypeScript as it is.
import express from 'express';

interface Answer {
  pid: number;
}

const app = express();
const answer: Answer = { pid: process.pid };

app.get('/', (_request: unknown, response: { json: (body: Answer) => void }) => response.json(answer));
app.get('/slow', (request: { query: { ms: string } }, response: { json: (body: Answer) => void }) => {
  setTimeout(() => response.json(answer), Number(request.query.ms));
});

app.listen(Number(process.env.PORT), () => console.log(`express ${process.pid} listens`));
