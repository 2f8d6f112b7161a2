import { describe, expect, test } from 'vitest';
import { FIELDS } from '../../../../lib/app-spec/table.js';
import { diffSpecs } from '../../../../lib/app-spec/diff.js';
import { mergeLiveFields } from '../../../../lib/app-spec/check.js';
import { makeSpec } from '../../control/make-spec.js';

test('fields that share a name in a list of changes are the parts of env_file and of watch', () => {
  const shown = Object.values(FIELDS)
    .filter(({ isDerived }) => !isDerived)
    .map(({ shownAs }) => shownAs);
  expect(shown.filter((name, at) => shown.indexOf(name) !== at)).toEqual(['env_file', 'watch']);
});

describe('a difference', () => {
  const diff = (before, after, o) => diffSpecs(makeSpec(before), makeSpec(after), o);

  test('a difference is empty between equal specs with keys in another order', () => {
    expect(diff({ env: { A: '1', B: '2' } }, { env: { B: '2', A: '1' } })).toEqual({ changes: [], needs: new Set() });
  });

  test('a difference names the attribute and both values', () => {
    expect(diff({}, { killTimeoutMs: 5_000, args: ['x'] })).toEqual({
      needs: new Set(['rollout', 'live']),
      changes: [
        { field: 'args', attribute: 'args', before: [], after: ['x'] },
        { field: 'killTimeoutMs', attribute: 'kill_timeout', before: 10_000, after: 5_000 },
      ],
    });
  });

  test('a difference shows only the variables of an environment that differ, and hides values that look secret', () => {
    const before = { env: { KEPT: '1', PORT: '80', GONE: 'x', DB_PASSWORD: 'old', URL: 'postgres://me:hush@db/x' } };
    const after = { env: { KEPT: '1', PORT: '81', NEW: 'y', DB_PASSWORD: 'new', URL: 'postgres://me:other@db/x' } };
    expect(
      diff(before, after).changes.map(({ attribute, before: old, after: wanted }) => [attribute, old, wanted]),
    ).toEqual([
      ['env.DB_PASSWORD', '***', '***'],
      ['env.GONE', 'x', null],
      ['env.NEW', null, 'y'],
      ['env.PORT', '80', '81'],
      ['env.URL', '***', '***'],
    ]);
  });

  test('a difference shows variables of env files that differ, and only names of secrets', () => {
    const before = {
      fileEnv: [
        { file: '/a', env: { A: '1', B: '1' } },
        { file: '/b', env: { B: '2' } },
      ],
    };
    const after = {
      fileEnv: [
        { file: '/a', env: { A: '1', B: '1' } },
        { file: '/b', env: { B: '3' } },
      ],
      secrets: { TOKEN: { file: '/run/token' } },
    };
    expect(
      diff(before, after).changes.map(({ attribute, before: old, after: wanted }) => [attribute, old, wanted]),
    ).toEqual([
      ['env_file.B', '2', '3'],
      ['secrets.TOKEN', null, '***'],
    ]);
  });

  test('a difference includes the shell environment only if the app gets the environment of another shell', () => {
    expect(diff({ shellEnv: { A: '1' } }, { shellEnv: { A: '2' } })).toEqual({ changes: [], needs: new Set() });
    expect(diff({ shellEnv: { A: '1' } }, { shellEnv: { A: '2' } }, { isShellNew: true })).toMatchObject({
      needs: new Set(['rollout']),
      changes: [{ attribute: 'shell.A' }],
    });
  });

  test('a difference that follows from another difference is shown only without it', () => {
    expect(diff({}, { interpreter: '/usr/bin/node', file: '/usr/bin/node' }).changes.map(({ field }) => field)).toEqual(
      ['interpreter'],
    );
    expect(diff({}, { file: '/usr/bin/other' }).changes.map(({ field }) => field)).toEqual(['file']);
  });

  test('a difference in an unknown field needs new processes', () => {
    expect(diffSpecs(makeSpec(), { ...makeSpec(), newField: 1 })).toMatchObject({ needs: new Set(['rollout']) });
  });
});

test('only changes that need no new process are applied live', () => {
  const spec = makeSpec({ killTimeoutMs: 1, env: { A: '1' }, version: '1' });
  const wanted = makeSpec({ killTimeoutMs: 2, env: { A: '2' }, version: '2', namespace: 'other', instances: 9 });
  expect(mergeLiveFields(spec, wanted)).toEqual({ ...spec, killTimeoutMs: 2, namespace: 'other' });
});
