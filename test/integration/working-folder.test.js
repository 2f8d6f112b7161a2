import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { realKeeper } from '../helpers/keeper.js';
import { isRoot, NOBODY, userFolders } from '../helpers/other-user.js';

// The user of an app can exchange each folder that he owns on the way to the working directory.

const CODE = `say('in', process.cwd() + ',', require('node:fs').readFileSync('note', 'utf8'))`;
const SHELL = { file: '/bin/sh', args: ['-c', 'echo "in $(pwd -P), $(cat note)"'] };

describe.runIf(isRoot).each(['exec', 'fork', 'cluster'])(
  '%s: the working directory of an app with another user',
  (mode) => {
    const begin = async () => {
      const folders = userFolders();
      const { own, closed } = folders;
      for (const folder of [join(own, 'release'), join(closed, 'open')]) {
        mkdirSync(folder);
        chmodSync(folder, 0o755);
        writeFileSync(join(folder, 'note'), 'a note', { mode: 0o644 });
      }
      const current = folders.plant('current', (path) => symlinkSync('release', path));
      const keeper = await realKeeper({ isOpen: true });
      const start = (id, cwd, more = {}) => {
        const params = { ...NOBODY, mode, cwd, env: { CODE }, ...more };
        return mode === 'exec' ? keeper.spawn(id, { ...params, ...SHELL }) : keeper.spawnNode(id, 'runs-code', params);
      };
      return { ...folders, keeper, start, current };
    };

    test('the working directory may be behind a link, but only if the user of the app may enter it', async () => {
      const { keeper, start, own, closed, current, plant } = await begin();
      const lead = (to) =>
        renameSync(
          plant('next', (path) => symlinkSync(to, path)),
          current,
        );
      await start('one', current);
      await keeper.says('one', `in ${join(own, 'release')}, a note`);
      lead(join(closed, 'open'));
      await expect(start('two', current)).rejects.toMatchObject({
        code: 'EACCES',
        message:
          `user 65534 may not enter the working directory ${current}, because of ${closed}: ` +
          'give this user access to that folder, or choose another working directory (--cwd)',
      });
      expect((await keeper.call('snapshot')).children.map(({ instanceId }) => keeper.shortId(instanceId))).toEqual([
        'one',
      ]);
      lead('release');
      await start('three', current);
      await keeper.says('three', 'a note');
    });

    test('the working directory may be a folder of root, if nothing can lead it elsewhere', async () => {
      const { keeper, start, closed } = await begin();
      await start('one', join(closed, 'open'), { isCwdTrusted: true });
      await keeper.says('one', `in ${join(closed, 'open')}, a note`);
    });

    test('a working directory that cannot be used has an error that names it and the code', async () => {
      const { start, own, plant } = await begin();
      plant('loop', (path) => symlinkSync('loop', path));
      plant('shut', (path) => mkdirSync(path, 0o600));
      const failure = (name) => start('one', join(own, name)).catch(({ code, message }) => [code, message]);
      const what = `the working directory ${own}`;
      expect(await failure('missing')).toEqual(['ENOENT', `${what}/missing does not exist`]);
      expect(await failure('release/note')).toEqual(['ENOTDIR', `${what}/release/note is not a directory`]);
      expect(await failure('loop')).toEqual(['ELOOP', `${what}/loop cannot be entered`]);
      expect(await failure('shut')).toEqual(['EACCES', expect.stringContaining(`, because of ${own}/shut: `)]);
    });
  },
);
