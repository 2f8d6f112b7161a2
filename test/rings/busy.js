// Keeps one core busy until its parent is gone, in whatever way the parent ended.
import { performance } from 'node:perf_hooks';

process.once('disconnect', () => process.exit());
spin();

function spin() {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(spin);
}
