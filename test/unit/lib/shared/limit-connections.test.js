import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { groupOf, limitConnections } from '../../../../lib/shared/limit-connections.js';

/** @param {number} max */
function rig(max) {
  const server = /** @type {any} */ (new EventEmitter());
  const { exempt } = limitConnections(server, max);
  /** @type {string[]} */
  const closed = [];
  return {
    closed,
    exempt,
    /** @param {string} name */
    open(name, remoteAddress = '10.0.0.1') {
      const socket = Object.assign(new EventEmitter(), {
        remoteAddress,
        destroy() {
          closed.push(name);
          socket.emit('close');
        },
      });
      server.emit('connection', socket);
      return /** @type {any} */ (socket);
    },
    /** @returns {() => void}  Ends the answer. */
    ask(/** @type {any} */ socket) {
      const response = new EventEmitter();
      server.emit('request', { socket }, response);
      return () => void response.emit('close');
    },
  };
}

test('the oldest connection gives way', () => {
  const { open, closed } = rig(2);
  for (const name of ['a', 'b', 'c', 'd']) open(name);
  expect(closed).toEqual(['a', 'b']);
});

test('a connection whose request is not answered yet gives way last', () => {
  const { open, ask, closed } = rig(2);
  const end = ask(open('a'));
  open('b');
  ask(open('c'));
  expect(closed).toEqual(['b']);
  end();
  open('d');
  expect(closed).toEqual(['b', 'a']);
});

test('if all have asked, the oldest one gives way to a new connection', () => {
  const { open, ask, closed } = rig(2);
  ask(open('a'));
  ask(open('b'));
  open('c');
  expect(closed).toEqual(['a']);
});

test('the address with the most connections gives way, even if it asks', () => {
  const { open, ask, closed } = rig(4);
  open('first', '10.0.0.2');
  for (const name of ['a', 'b', 'c']) ask(open(name));
  open('second', '10.0.0.3');
  expect(closed).toEqual(['a']);
});

test('an exempt connection does not count, and never gives way', () => {
  const { open, exempt, closed } = rig(1);
  exempt(open('page'));
  open('a');
  open('b');
  expect(closed).toEqual(['a']);
});

test.each([
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  [undefined, ''],
])('%s is one client with %s', (address, group) => {
  expect(groupOf(address)).toBe(group);
});
