import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRandom, pickOne } from '../../../helpers/random.js';
import { createLogRig } from './log-rig.js';

let rig;

beforeEach(() => {
  rig = createLogRig();
});
afterEach(() => rig.close());

const SEEDS = Number(process.env.NCLUST_TEST_SEEDS ?? 8);

const FIRST_SEED = Number(process.env.NCLUST_TEST_SEED ?? 0);
const SEED_LIST = Array.from({ length: SEEDS }, (_, at) => FIRST_SEED + at);

const WORDS = ['a', 'zwölf', '€uro', '😀', '', ' ', '\r', 'x'.repeat(300)];

/** Writes numbered lines, in chunks that may end in the middle of a line. */
function createApp(random, name) {
  let written = Buffer.alloc(0);
  let handedOver = 0;
  let count = 0;
  return {
    name,
    chunk() {
      for (let left = Math.floor(random() * 6); left >= 0; left--) {
        const long = random() < 0.02 ? 'é'.repeat(40_000) : '';
        written = Buffer.concat([written, Buffer.from(`${name}${count++}|${pickOne(random, WORDS)}${long}\n`)]);
      }
      const from = handedOver;
      handedOver = random() < 0.4 ? written.length : from + Math.floor(random() * (written.length - from + 1));
      return written.subarray(from, handedOver);
    },
    rest() {
      const from = handedOver;
      handedOver = written.length;
      return written.subarray(from);
    },
    text: () => written.toString(),
  };
}

/** Joins the parts of long lines. */
function shown(lines) {
  const whole = [];
  for (const line of lines) {
    if (/^\w+\d+\|/.test(line)) whole.push(line);
    else whole.push(`${whole.pop() ?? ''}${line}`);
  }
  return whole;
}

test.each(SEED_LIST)(
  'seed %i: every line arrives once, in order, over rotations, compressions, restarts and reconnects',
  async (seed) => {
    const random = createRandom(seed);
    const apps = ['one', 'two', 'three'].map((name) => createApp(random, name));
    rig.maxSizeBytes = pickOne(random, [300, 2_000, 50_000]);

    const act = () => {
      rig.nowMs += Math.floor(random() * 30);
      const dice = random();
      const app = pickOne(random, apps);
      if (dice < 0.8) {
        const chunk = app.chunk();
        if (chunk.length > 0) rig.write(app.name, chunk);
      } else {
        const plain = rig.segments(app.name).filter(({ compression }) => compression === null);
        if (plain.length > 0) rig.compress(pickOne(random, plain));
      }
    };
    let mayBreak = true;
    const client = rig.reader(
      apps.map(({ name }) => name),
      async () => {
        for (let left = Math.floor(random() * 4); left > 0; left--) act();
        if (mayBreak && random() < 0.1) client.leave();
      },
    );

    for (let round = 0; round < 6; round++) {
      for (let left = Math.floor(random() * 40); left > 0; left--) act();
      await client.look();
      for (let left = Math.floor(random() * 40); left > 0; left--) act();
      client.leave();
      if (random() < 0.4) rig.restart();
    }
    mayBreak = false;
    await client.look();
    for (const app of apps) rig.write(app.name, app.rest());
    for (const app of apps)
      expect(shown(client.lines(app.name))).toEqual(
        app
          .text()
          .split('\n')
          .slice(0, -1)
          .map((line) => line.replace(/\r$/, '')),
      );
    expect([client.gaps, client.missed]).toEqual([0, 0]);
  },
);
