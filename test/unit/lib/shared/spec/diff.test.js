import { describe, expect, test } from 'vitest';
import { ATTRIBUTES } from '../../../../../lib/config/options/schema.js';
import { SPEC_NEEDS, withLiveFields } from '../../../../../lib/shared/spec/change-effects.js';
import { diffSpecs } from '../../../../../lib/shared/spec/diff.js';
import { SPEC_RULES } from '../../../../../lib/shared/spec/spec.js';
import { makeSpec } from '../../../control/make-spec.js';

test('every field of a spec says what a change of it needs, and nothing else does', () => {
  expect(Object.keys(SPEC_NEEDS).sort()).toEqual(Object.keys(SPEC_RULES).sort());
});

test('a field is called as it is in a file', () => {
  const named = ATTRIBUTES.filter(({ field, name }) => field && name !== 'time');
  expect(named.map(({ field }) => [field, SPEC_NEEDS[field]?.attribute])).toEqual(
    named.map(({ field, name }) => [field, name]),
  );
});

test('fields of which only one can be seen have names of their own', () => {
  const shown = Object.values(SPEC_NEEDS)
    .filter(({ isDerived }) => !isDerived)
    .map(({ attribute }) => attribute);
  expect(shown.filter((attribute, at) => shown.indexOf(attribute) !== at)).toEqual(['env_file', 'watch']);
});

describe('a difference', () => {
  const diff = (before, after, o) => diffSpecs(makeSpec(before), makeSpec(after), o);

  test('is none between equal specs, whatever the order of their keys', () => {
    expect(diff({ env: { A: '1', B: '2' } }, { env: { B: '2', A: '1' } })).toEqual({ changes: [], needs: new Set() });
  });

  test('names the attribute and both values', () => {
    expect(diff({}, { killTimeoutMs: 5_000, args: ['x'] })).toEqual({
      needs: new Set(['rollout', 'live']),
      changes: [
        { field: 'args', attribute: 'args', before: [], after: ['x'] },
        { field: 'killTimeoutMs', attribute: 'kill_timeout', before: 10_000, after: 5_000 },
      ],
    });
  });

  test('shows of an environment the variables that differ, and hides what looks like a secret', () => {
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

  test('shows of env files the variables that differ, and of secrets only their names', () => {
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

  test('in what the shell gave an app is one only when the app is to get another shell', () => {
    expect(diff({ shellEnv: { A: '1' } }, { shellEnv: { A: '2' } })).toEqual({ changes: [], needs: new Set() });
    expect(diff({ shellEnv: { A: '1' } }, { shellEnv: { A: '2' } }, { isShellNew: true })).toMatchObject({
      needs: new Set(['rollout']),
      changes: [{ attribute: 'shell.A' }],
    });
  });

  test('that follows from another is not shown beside it, but alone', () => {
    expect(diff({}, { interpreter: '/usr/bin/node', file: '/usr/bin/node' }).changes.map(({ field }) => field)).toEqual(
      ['interpreter'],
    );
    expect(diff({}, { file: '/usr/bin/other' }).changes.map(({ field }) => field)).toEqual(['file']);
  });

  test('in a field that no version knows yet needs new processes', () => {
    expect(diffSpecs(makeSpec(), { ...makeSpec(), newField: 1 })).toMatchObject({ needs: new Set(['rollout']) });
  });
});

test('what takes effect live is taken over, and nothing else', () => {
  const spec = makeSpec({ killTimeoutMs: 1, env: { A: '1' }, version: '1' });
  const wanted = makeSpec({ killTimeoutMs: 2, env: { A: '2' }, version: '2', namespace: 'other', instances: 9 });
  expect(withLiveFields(spec, wanted)).toEqual({ ...spec, killTimeoutMs: 2, namespace: 'other' });
});
