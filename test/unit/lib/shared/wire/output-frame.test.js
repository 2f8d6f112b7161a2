import { expect, test } from 'vitest';
import { createFrameReader, outputFrame } from '../../../../../lib/shared/wire/output-frame.js';

const head = (stream = 'out') => ({ instanceId: 'i', id: 3, name: 'api', stream, atMs: 5 });

function piecesOf(feed) {
  const pieces = [];
  feed(createFrameReader((said, bytes) => pieces.push([said, bytes.toString()])));
  return pieces;
}

test('frames arrive complete, wherever the stream is cut', () => {
  const sent = Buffer.concat([
    outputFrame(head(), Buffer.from('one\ntwo\n')),
    outputFrame(head('err'), Buffer.from('{"bytes":1}\n')),
    outputFrame({ ...head(), isEnd: true }, Buffer.alloc(0)),
  ]);
  for (const size of [1, 7, 50, sent.length]) {
    const pieces = piecesOf((push) => {
      for (let from = 0; from < sent.length; from += size) push(sent.subarray(from, from + size));
    });
    const of = (stream) =>
      pieces
        .filter(([said]) => said.stream === stream && !said.isEnd)
        .map(([, text]) => text)
        .join('');
    expect(of('out')).toBe('one\ntwo\n');
    expect(of('err')).toBe('{"bytes":1}\n');
    expect(pieces.at(-1)).toEqual([{ ...head(), isEnd: true }, '']);
  }
});

test('the part of a frame that has arrived is delivered before the rest', () => {
  const frame = outputFrame(head(), Buffer.from('line\nhalf'));
  expect(piecesOf((push) => push(frame.subarray(0, frame.length - 4)))).toEqual([[head(), 'line\n']]);
});

test('an invalid frame is refused', () => {
  expect(() => piecesOf((push) => push(Buffer.alloc(70_000, 'x')))).toThrow('not output of nclust');
});
