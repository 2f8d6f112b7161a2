// A cluster as written by hand with node:cluster: round robin, and on SIGUSR2 the usual reload: for
// each worker disconnect, wait for the exit, fork, wait until it listens. SCRIPT is the app,
// WORKERS their number. Prints a line when all listen, and after each reload.
import cluster from 'node:cluster';
import { once } from 'node:events';

/**
 * Time for a worker's clients to leave, in ms. PM2's kill_timeout is 1.6 s, its longest drain 3 s.
 */
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
