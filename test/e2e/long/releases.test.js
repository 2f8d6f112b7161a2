import { existsSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { placeFixture } from '../../helpers/fixtures.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';

const PROGRAM = `const { readFileSync } = require('node:fs');
const words = () => [require('./lib/word.js'), readFileSync('word.txt', 'utf8'), require.main.filename];
require('node:http')
  .createServer((_, response) => response.end(words().join(' ')))
  .listen(process.env.PORT, () => process.send('ready'));
`;

function release(home, word) {
  const folder = join(home.work, 'releases', word);
  mkdirSync(join(folder, 'lib'), { recursive: true });
  writeFileSync(join(folder, 'app.js'), PROGRAM);
  writeFileSync(join(folder, 'lib/word.js'), `module.exports = '${word}';\n`);
  writeFileSync(join(folder, 'word.txt'), word);
  return folder;
}

function switchTo(home, word) {
  symlinkSync(join('releases', word), join(home.work, 'next'));
  renameSync(join(home.work, 'next'), join(home.work, 'current'));
}

describe.each([
  ['fork', []],
  ['cluster', ['-i', '2']],
])('releases behind a link, in %s mode', (_mode, flags) => {
  test.each([
    [
      'from inside the link',
      (home) => ({
        words: ['app.js'],
        cwd: join(home.work, 'current'),
        pwd: join(home.work, 'current'),
      }),
    ],
    [
      'by its path',
      (home) => ({
        words: [join(home.work, 'current/app.js'), '--cwd', join(home.work, 'current')],
        cwd: home.work,
      }),
    ],
    ['with a relative --cwd', (home) => ({ words: ['app.js', '--cwd', 'current'], cwd: home.work })],
  ])(
    'an app started %s runs the current release after each reload, even if the previous one is deleted',
    async (_how, place) => {
      const home = await sandbox();
      const port = String(await takePort());
      release(home, 'one');
      release(home, 'two');
      switchTo(home, 'one');
      const { words, cwd, pwd } = place(home);
      expect(
        await home.nclust('start', ...words, '--name', 'api', '--min-uptime', '100', '--wait-ready', ...flags, {
          cwd,
          env: { PORT: port, PWD: pwd },
        }),
      ).toMatchObject({ exitStatus: 0 });
      expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBe(`one one ${join(home.work, 'releases/one/app.js')}`);

      switchTo(home, 'two');
      rmSync(join(home.work, 'releases/one'), { recursive: true });
      expect(await home.nclust('reload', 'api')).toMatchObject({ exitStatus: 0 });

      expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBe(`two two ${join(home.work, 'releases/two/app.js')}`);
      for (const { pid } of await home.list())
        expect(readlinkSync(`/proc/${pid}/cwd`)).toBe(join(home.work, 'releases/two'));
    },
  );
});

test('a reload to a release that crashes keeps the old one, and setting the link back repairs it', async () => {
  const home = await sandbox();
  const port = String(await takePort());
  release(home, 'one');
  const bad = release(home, 'bad');
  placeFixture('crashes-at-boot', bad, 'app.js');
  switchTo(home, 'one');
  const current = join(home.work, 'current');
  await home.nclust('start', 'app.js', '--name', 'api', '--wait-ready', {
    cwd: current,
    env: { PORT: port, PWD: current },
  });
  switchTo(home, 'bad');
  expect(await home.nclust('reload', 'api')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('still serving'),
  });
  expect(await fetchOnce(`http://127.0.0.1:${port}`)).toMatch(/^one one /);
  switchTo(home, 'one');
  expect(await home.nclust('reload', 'api')).toMatchObject({ exitStatus: 0 });
  expect(existsSync(join(current, 'word.txt'))).toBe(true);
});
