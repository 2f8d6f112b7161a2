// An app in fork mode may use node:cluster itself. Then the agent also runs in the workers of the
// app, to drain them. The primary and its workers talk over the channel of node:cluster.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { beforeSpawn, CMD } = require('./before-spawn.cjs');

/** @import { ChildProcess } from 'node:child_process' */

/** @typedef {{ mode: 'handover' | 'finish', signal?: NodeJS.Signals | null }} Drain */

/**
 * For the primary.
 * @param {string} agent
 * @returns {(drain: Drain, then: () => void) => void}  Drains the workers.
 */
function followWorkers(agent) {
  /** @type {Set<ChildProcess>} */
  const workers = new Set();
  beforeSpawn((child, { args, envPairs }) => {
    const isWorker = envPairs.some((pair) => pair.startsWith('NODE_UNIQUE_ID='));
    // Under the permission model, the worker could not read the agent.
    if (!isWorker || 'permission' in process || !fs.existsSync(agent)) return;
    args.splice(1, 0, '--require', agent);
    envPairs.push(`NCLUST_AGENT=${JSON.stringify({ isOwnWorker: true })}`);
    workers.add(child);
    child.once('exit', () => workers.delete(child));
  });
  return (drain, then) => {
    let left = workers.size + 1;
    const one = () => {
      left -= 1;
      if (left === 0) then();
    };
    for (const child of workers) {
      const done = onceOnly(one);
      child.once('exit', done);
      child.on('internalMessage', (message) => {
        if (message?.cmd === CMD && message.act === 'drained') done();
      });
      if (child.connected) child.send({ cmd: CMD, act: 'drain', ...drain }, () => {});
      else done();
    }
    one();
  };
}

/** @param {() => void} then */
function onceOnly(then) {
  let isDone = false;
  return () => {
    if (!isDone) then();
    isDone = true;
  };
}

/**
 * For a worker.
 * @param {{ all: Set<any>, add: (server: any) => void }} servers
 * @param {(name: any) => any} load
 */
function followPrimary(servers, load) {
  const { listen } = net.Server.prototype;
  /** @type {any} */ (net.Server.prototype).listen = {
    /** @this {net.Server} */
    listen(/** @type {any[]} */ ...args) {
      this.once('listening', () => servers.add(this));
      return Reflect.apply(listen, this, args);
    },
  }.listen;
  const sockets = {
    servers,
    // The primary listens and accepts, and its last connections may be on their way to this worker.
    // So this worker closes only a socket on which it accepts itself.
    closeListening(/** @type {unknown} */ _, /** @type {() => void} */ then) {
      const own = [...servers.all].filter(({ _handle: handle }) => handle && 'fd' in handle);
      load('./parking.cjs').closeHandles(own, []);
      then();
    },
  };
  const send = process.send?.bind(process);
  process.on(/** @type {any} */ ('internalMessage'), (/** @type {any} */ message) => {
    if (message?.cmd !== CMD || message.act !== 'drain') return;
    load('./drain.cjs').drain(sockets, message, () =>
      send?.({ cmd: CMD, act: 'drained' }, undefined, undefined, () => {}),
    );
  });
}

module.exports = { followPrimary, followWorkers };
