import { expect, test } from 'vitest';
import { createGatekeeper } from '../../../../lib/serve/handler.js';

const basic = (text) => `Basic ${Buffer.from(text).toString('base64')}`;

const mayEnter = createGatekeeper({ username: 'ann', password: 'a:bä' });

test('the right credentials are accepted, with colons and non-ASCII letters', () => {
  expect(mayEnter(basic('ann:a:bä'))).toBe(true);
  expect(mayEnter(basic('ann:a:bä').replace('Basic', 'basic'))).toBe(true);
});

test.each([
  undefined,
  '',
  'Basic',
  'Basic !!',
  basic(''),
  basic(':'),
  basic('ann'),
  basic('ann:'),
  basic('ann:a:b'),
  basic('Ann:a:bä'),
  basic(':a:bä'),
  basic('ann:a:bä '),
  `Bearer ${Buffer.from('ann:a:bä').toString('base64')}`,
])('the header "%s" is refused', (header) => {
  expect(mayEnter(header)).toBe(false);
});

test('an empty header is refused, whatever the credentials are', () => {
  expect(createGatekeeper({ username: '', password: '' })(undefined)).toBe(false);
});
