// The app of the clustering tutorials: a light route and a CPU-bound one.
const express = require('express');

const app = express();
const port = process.env.PORT || 3000;

app.get('/', (req, res) => {
  res.json({ message: 'Hello World!', pid: process.pid });
});

app.get('/api/slow', (req, res) => {
  let result = 0;
  for (let i = Number(process.env.WORK || 823543); i >= 0; i--) {
    result += Math.atan(i) * Math.tan(i);
  }
  res.json({ result, pid: process.pid });
});

app.listen(port, () => {
  console.log(`App listening on port ${port}, pid ${process.pid}`);
});
