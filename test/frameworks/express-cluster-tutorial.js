// The same app, clustered by hand as in the tutorials.
const cluster = require('node:cluster');
const os = require('node:os');
const express = require('express');

const port = process.env.PORT || 3000;

if (cluster.isPrimary) {
  console.log(`Primary ${process.pid} is running`);
  for (let i = 0; i < os.cpus().length; i++) {
    cluster.fork();
  }
  cluster.on('exit', (worker) => {
    console.log(`worker ${worker.process.pid} died`);
    cluster.fork();
  });
} else {
  const app = express();

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
    console.log(`Worker ${process.pid} listening on port ${port}`);
  });
}
