import { afterAll, describe, expect, test } from 'vitest';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interpreterChange } from '../../../../../lib/config/spec/change.js';
import { checkSpec } from '../../../../../lib/app-spec/check.js';

const folder = mkdtempSync(join(tmpdir(), 'nclust-interpreter-'));
afterAll(() => rmSync(folder, { recursive: true }));
const where = { path: '/usr/bin:/bin', node: { file: process.execPath, version: process.version } };

function fakeNode(name, version) {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\necho ${version}\n`);
  chmodSync(file, 0o755);
  return file;
}

function spec(name, fields = {}) {
  const script = join(folder, name);
  writeFileSync(script, '1');
  return checkSpec({
    name: 'api',
    kind: 'node',
    file: '/old/node',
    interpreter: '/old/node',
    nodeVersion: 'v18.0.0',
    script,
    cwd: folder,
    mode: 'cluster',
    ...fields,
  });
}

describe('another interpreter', () => {
  test('an interpreter given by its path gets its version and keeps the arguments', () => {
    const node = fakeNode('node', 'v24.1.0');
    expect(
      interpreterChange(spec('a.js', { interpreterArgs: ['--max-old-space-size=100'] }), { interpreter: node }, where),
    ).toEqual({
      kind: 'node',
      file: node,
      interpreter: node,
      interpreterEnv: {},
      interpreterGiven: node,
      nodeVersion: 'v24.1.0',
      interpreterArgs: ['--max-old-space-size=100'],
      execArgs: [],
    });
  });

  test.runIf(process.getuid?.() === 0)('another interpreter runs with --version as the user of the app', () => {
    chmodSync(folder, 0o755);
    const node = fakeNode('node20', '$(/usr/bin/id -u) $(/usr/bin/id -g) $(/usr/bin/id -G)');
    const change = interpreterChange(spec('a.js', { uid: 65_534, gid: 65_534 }), { interpreter: node }, where);
    expect(change.nodeVersion).toBe('65534 65534 65534');
  });

  test('an interpreter called "node" is the Node.js that runs the command', () => {
    expect(interpreterChange(spec('a.js'), { interpreter: 'node' }, where)).toMatchObject({
      file: process.execPath,
      nodeVersion: process.version,
    });
  });

  test('another interpreter gets the TypeScript flags that its version needs', () => {
    const [old, young] = [fakeNode('node22', 'v22.7.0'), fakeNode('node24', 'v24.1.0')];
    const before = spec('a.ts', { interpreterArgs: ['--experimental-strip-types', '--trace-gc'] });
    expect(interpreterChange(before, { interpreter: young }, where)).toMatchObject({ interpreterArgs: ['--trace-gc'] });
    expect(
      interpreterChange({ ...before, interpreterArgs: ['--trace-gc'] }, { interpreter: old }, where),
    ).toMatchObject({ interpreterArgs: ['--experimental-strip-types', '--trace-gc'] });
  });

  test('an interpreter that is not Node.js gets the script and its arguments in execArgs', () => {
    const python = fakeNode('python3', '3');
    const before = spec('a.py', {
      kind: 'exec',
      mode: 'fork',
      args: ['x'],
      interpreterArgs: ['-u'],
      execArgs: ['-u', 'a.py', 'x'],
    });
    expect(interpreterChange(before, { interpreter: python }, where)).toMatchObject({
      kind: 'exec',
      file: python,
      nodeVersion: null,
      execArgs: ['-u', before.script, 'x'],
    });
  });
});

test('interpreterChange with other arguments keeps the interpreter', () => {
  const node = fakeNode('node', 'v24.1.0');
  const change = interpreterChange(
    spec('a.js', { file: node, interpreter: node, interpreterArgs: ['--trace-gc'] }),
    { interpreterArgs: ['--trace-warnings'] },
    where,
  );
  expect(change).toMatchObject({ file: node, interpreterArgs: ['--trace-warnings'] });
  expect(change).not.toHaveProperty('interpreterGiven');
});

test.each([
  [
    'an interpreter that does not support cluster mode',
    () => interpreterChange(spec('a.js'), { interpreter: fakeNode('bun', '1') }, where),
    /cluster mode/,
  ],
  [
    'a shell command',
    () =>
      interpreterChange(
        spec('a.sh', { kind: 'exec', mode: 'fork', interpreterArgs: ['-c'], execArgs: ['-c', 'ls'] }),
        { interpreter: 'node' },
        where,
      ),
    /shell command/,
  ],
  [
    'a missing interpreter',
    () => interpreterChange(spec('a.js'), { interpreter: join(folder, 'nope') }, where),
    /not in PATH or is not executable/,
  ],
])('%s is refused', (_, change, message) => {
  expect(change).toThrow(message);
});
