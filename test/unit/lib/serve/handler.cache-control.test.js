import { expect, test } from 'vitest';
import { createCacheControl, isHashed } from '../../../../lib/serve/handler.js';

test.each([
  'main.3f2a9c1b.js',
  'app.0123456789abcdef0123.css',
  'index-BfX2aZ9k.js',
  'chunk-5QZ3ABCD.js',
  'logo_0a1b2c3d.svg',
  'font-3f2a9c1b.woff2',
  'main.3f2a9c1b.js.map',
])('%s has a hash in its name', (name) => {
  expect(isHashed(`/site/assets/${name}`)).toBe(true);
});

test.each([
  'app.js',
  'report-20261121.json',
  'jquery-extended.js',
  'background-image.png',
  'lodash.min.js',
  'photo-1234567890.jpg',
  'app-version2.js',
  'deadbeef.html',
  'index-BfX2aZ9k.html',
  'facade.css',
  'three-r160.js',
  'polyfill-es2015.js',
])('%s has no hash in its name', (name) => {
  expect(isHashed(`/3f2a9c1b/${name}`)).toBe(false);
});

test.each([
  ['', false, { page: 'no-cache', asset: 'public, max-age=31536000, immutable', other: 'public, no-cache' }],
  ['', true, { page: 'private, no-cache', asset: 'private, max-age=31536000, immutable', other: 'private, no-cache' }],
  ['1h', false, { page: 'no-cache', asset: 'public, max-age=31536000, immutable', other: 'public, max-age=3600' }],
  ['none', false, { page: 'no-store', asset: 'no-store', other: 'no-store' }],
])('the header with cache "%s" and a password (%s)', (cache, isPrivate, { page, asset, other }) => {
  const cacheControl = createCacheControl({ cache, isPrivate });
  expect([cacheControl('/s/index.HTML'), cacheControl('/s/app.3f2a9c1b.js'), cacheControl('/s/a.png')]).toEqual([
    page,
    asset,
    other,
  ]);
});
