import { expect, test } from 'vitest';
import { createKeyReader } from '../../../../lib/monit/keys.js';

function read(...chunks) {
  const reader = createKeyReader();
  return {
    keys: chunks
      .flatMap((chunk) => reader.push(chunk))
      .map(({ name, text }) => (text !== undefined && text !== name ? `${name}:${text}` : name)),
    reader,
  };
}

test.each([
  ['jk?', ['j', 'k', '?']],
  ['\u001b[A\u001b[B\u001b[C\u001b[D', ['up', 'down', 'right', 'left']],
  ['\u001bOA\u001bOB\u001bOH\u001bOF', ['up', 'down', 'home', 'end']],
  ['\u001b[H\u001b[F\u001b[1~\u001b[4~\u001b[7~\u001b[8~', ['home', 'end', 'home', 'end', 'home', 'end']],
  ['\u001b[5~\u001b[6~\u001b[3~', ['pageup', 'pagedown', 'delete']],
  ['\u001b[1;5A\u001b[5;2~', ['up', 'pageup']],
  ['\r\n\t\u007f\b', ['enter', 'enter', 'tab', 'backspace', 'backspace']],
  ['\u0003\u001a\u000c\u0015', ['quit', 'suspend', 'redraw', 'clear']],
  ['é日👍', ['é', '日', '👍']],
  ['\u001b[24~\u001b[Zx\u0000', ['x']],
])('the input %j gives its keys', (text, names) => {
  expect(read(text).keys).toEqual(names);
});

test('a sequence that arrives in parts is one key', () => {
  for (const parts of [
    ['\u001b', '[A'],
    ['\u001b[', 'A'],
    ['\u001b[6', '~'],
    ['\u001bO', 'A'],
  ]) {
    const { keys, reader } = read(parts[0]);
    expect(keys).toEqual([]);
    expect(reader.isWaiting()).toBe(true);
    expect(reader.push(parts[1])).toHaveLength(1);
    expect(reader.isWaiting()).toBe(false);
  }
});

test('Esc is a key if no sequence follows', () => {
  const { keys, reader } = read('\u001b');
  expect(keys).toEqual([]);
  expect(reader.flush()).toEqual([{ name: 'escape' }]);
  expect(reader.isWaiting()).toBe(false);
});

test('a paste is one key, even in parts, and presses no other key', () => {
  expect(read('\u001b[200~sy\nRy\u001b[201~q').keys).toEqual(['paste:sy\nRy', 'q']);
  const { keys, reader } = read('\u001b[200~sy', 'Ry');
  expect(keys).toEqual([]);
  expect(reader.isWaiting()).toBe(false);
  expect(reader.flush()).toEqual([]);
  expect(reader.push('\u001b[201~')).toEqual([{ name: 'paste', text: 'syRy' }]);
});

test('a paste without an end is dropped', () => {
  const { keys, reader } = read(`\u001b[200~${'y'.repeat(70_000)}`);
  expect(keys).toEqual([]);
  expect(reader.push('j')).toEqual([{ name: 'j', text: 'j' }]);
});
