// A program that works in bursts, and keeps its results in memory.
let jobs = 0;
const kept = [];

setInterval(() => {
  const until = performance.now() + 120 * (1 + Math.sin(Date.now() / 9_000));
  while (performance.now() < until) jobs += 1;
  if (kept.length < 400) kept.push(Buffer.alloc(100_000, 1));
  if (kept.length % 20 === 0) console.log(`${jobs} jobs done`);
}, 1_000);
