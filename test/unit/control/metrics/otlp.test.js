import { expect, test } from 'vitest';
import { createOtlpSender } from '../../../../daemon/control/metrics/otlp.js';

/** A fake collector, which gives these answers in turn, and then repeats the last answer. */
function collector(...answers) {
  const bodies = [];
  let asked = 0;
  const ask = async (url, { body }) => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    if (typeof answer !== 'number') throw answer;
    if (answer === 200) bodies.push(body);
    return new Response('{}', { status: answer });
  };
  return { ask, bodies, asked: () => asked };
}

const refused = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });

test('points that could not be sent are sent first the next time', async () => {
  const { ask, bodies } = collector(refused, 503, 200);
  const sender = createOtlpSender('http://there/', ask);
  await sender.send('1');
  expect(sender.problem()).toBe('it cannot be reached (ECONNREFUSED)');
  await sender.send('2');
  expect(sender.problem()).toBe('it answers with status 503');
  await sender.send('3');
  expect(bodies).toEqual(['1', '2', '3']);
  expect([sender.problem(), sender.lost()]).toEqual([null, 0]);
});

test('points that the collector refuses are not sent again', async () => {
  const { ask, asked } = collector(400);
  const sender = createOtlpSender('http://there/', ask);
  await sender.send('1');
  await sender.send('2');
  expect([asked(), sender.lost(), sender.problem()]).toEqual([2, 2, 'it answers with status 400']);
});

test('an unreachable collector costs no more memory than a dozen exports', async () => {
  const { ask } = collector(refused);
  const sender = createOtlpSender('http://there/', ask);
  for (let at = 0; at < 100; at += 1) await sender.send(String(at));
  expect(sender.lost()).toBe(88);
  const large = createOtlpSender('http://there/', ask);
  for (let at = 0; at < 5; at += 1) await large.send('x'.repeat(2 * 1024 * 1024));
  expect(large.lost()).toBe(3);
});

test('no export is sent while another one is in progress', async () => {
  let answer = () => {};
  const bodies = [];
  const sender = createOtlpSender('http://there/', (url, { body }) => {
    bodies.push(body);
    return new Promise((resolve) => {
      answer = () => resolve(new Response('{}', { status: 200 }));
    });
  });
  const first = sender.send('1');
  await sender.send('2');
  expect(bodies).toEqual(['1']);
  answer();
  await expect.poll(() => bodies.length).toBe(2);
  answer();
  await first;
});
