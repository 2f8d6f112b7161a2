import { pause } from '../../helpers/wait-for.js';
import { cpuTicks, median, TICKS_PER_SECOND } from '../measure.js';
import { openRival } from '../rivals.js';

const COUNT = 100;
const WATCH_MS = 15_000;

export async function measureIdleCpu({ runs }) {
  const ours = await idlePercent('nclust', runs);
  const theirs = await idlePercent('PM2', 1);
  return [
    {
      what: `CPU of the manager with ${COUNT} idle processes`,
      unit: '% of a core',
      nclust: ours,
      pm2: theirs,
      bound: 1,
      boundIs: '1 %',
    },
  ];
}

async function idlePercent(name, runs) {
  const rival = openRival(name);
  try {
    await rival.run(['start', 'sleep', '-i', String(COUNT), '--', '100000']);
    await pause(3_000);
    const percents = [];
    for (let run = 0; run < runs; run += 1) {
      const before = cpuTicks(rival.managerPids());
      await pause(WATCH_MS);
      percents.push(((cpuTicks(rival.managerPids()) - before) / TICKS_PER_SECOND / (WATCH_MS / 1000)) * 100);
    }
    return median(percents);
  } finally {
    await rival.close();
  }
}
