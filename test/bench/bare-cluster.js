// A hand-written cluster that prints a line when all workers listen. SIGUSR2 reloads in the usual
// way: disconnect a worker, wait for its exit, fork, wait until the new worker listens, next
// worker.
import cluster from 'node:cluster';
import { once } from 'node:events';

/** Time limit for a worker to exit, in ms. PM2 allows less: kill_timeout 1.6 s, drain 3 s. */
const PATIENCE_MS = 4_000;

cluster.setupPrimary({ exec: process.env.SCRIPT });
cluster.schedulingPolicy = cluster.SCHED_RR;
let reloading = Promise.resolve();

await Promise.all(Array.from({ length: Number(process.env.WORKERS) }, fork));
console.log('listening');

process.on('SIGUSR2', () => {
  reloading = reloading.then(reload);
});

async function reload() {
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (!worker) continue;
    const patience = setTimeout(() => worker.process.kill('SIGKILL'), PATIENCE_MS);
    worker.disconnect();
    await once(worker, 'exit');
    clearTimeout(patience);
    await fork();
  }
  console.log('reloaded');
}

function fork() {
  return once(cluster.fork(), 'listening');
}
