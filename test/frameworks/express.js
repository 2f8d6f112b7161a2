// Express 5, or the version that EXPRESS names.
const express = require(process.env.EXPRESS ?? 'express');

const app = express();

app.get('/', (req, res) => {
  res.json({
    pid: process.pid,
    framework: `express ${require(`${process.env.EXPRESS ?? 'express'}/package.json`).version}`,
  });
});

app.get('/slow', (req, res) => {
  setTimeout(() => res.json({ pid: process.pid }), Number(req.query.ms));
});

app.listen(process.env.PORT, () => console.log(`express ${process.pid} listens`));
