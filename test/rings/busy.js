// Keeps one core busy until its parent is gone, even if the parent was killed.
import { performance } from 'node:perf_hooks';

process.once('disconnect', () => process.exit());
spin();

function spin() {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(spin);
}
