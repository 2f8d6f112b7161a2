import { expect, test } from 'vitest';
import {
  adviseOnListenFailure,
  describeEnd,
  describeListenFailure,
  isAsked,
  quoteErrorLine,
} from '../../../../lib/shared/death-text.js';

const TAKEN = { address: null, port: 80, family: 6, code: 'EADDRINUSE', app: 'web', holder: null };
const OF_BOB = { pid: 0, command: 'a program of user bob' };
const KEEPER = { pid: 7, command: 'nclust keeper', nclust: { home: '/home/ann/my apps', user: 'ann' } };

test.each([
  [{ code: 1, signal: null, cause: 'crash', uptimeMs: 412 }, 'exited with code 1 after 412ms'],
  [
    { code: null, signal: 'SIGKILL', cause: 'signal', uptimeMs: 61_000 },
    'was killed by SIGKILL from outside after 1m 1s',
  ],
  [{ code: 143, signal: null, cause: 'signal' }, 'exited with code 143, as after SIGTERM from outside'],
  [
    { code: null, signal: 'SIGTERM', cause: 'signal', by: 'sendSignal SIGTERM', uptimeMs: 900 },
    'was ended by SIGTERM, which nclust sendSignal sent, after 900ms',
  ],
  [
    { code: null, signal: 'SIGKILL', cause: 'signal', by: 'sendSignal SIGKILL' },
    'was killed by SIGKILL, which nclust sendSignal sent',
  ],
  [
    { code: 0, signal: null, cause: 'signal', by: 'sendSignal SIGTERM', uptimeMs: 900 },
    'exited with code 0 after 900ms, after nclust sendSignal SIGTERM',
  ],
  [{ code: null, signal: 'SIGSEGV', cause: 'crash', uptimeMs: 900 }, 'was ended by SIGSEGV after 900ms'],
  [{ code: 0, signal: null, cause: 'stop', by: 'stop', uptimeMs: 900 }, 'exited with code 0 after 900ms: stopped'],
  [
    { code: null, signal: 'SIGKILL', cause: 'reload', by: 'deploy', uptimeMs: 900 },
    'did not exit in time and was killed after 900ms: replaced by a reload by deploy',
  ],
  [{ code: null, signal: null, cause: 'spawn-failed', words: 'ENOENT' }, 'could not be started: ENOENT'],
  [{ code: 1, signal: null, cause: 'crash' }, 'exited with code 1'],
  [{ code: null, signal: 'SIGINT', cause: 'boot-timeout', uptimeMs: 10_000 }, 'was not ready in 3s'],
  [
    { code: null, signal: null, cause: 'spawn-failed', uptimeMs: 0, words: 'ENOENT: no such file' },
    'could not be started: ENOENT: no such file',
  ],
  [
    { code: null, signal: 'SIGABRT', cause: 'out-of-memory', by: 'the heap limit of V8', uptimeMs: 5_000 },
    'ran out of memory after 5s (the heap limit of V8)',
  ],
  [
    { code: 0, signal: null, cause: 'crash', uptimeMs: 412 },
    `exited with code 0 after 412ms (it had nothing left to do, or exited without an error)`,
  ],
  [
    { code: 0, signal: null, cause: 'crash', uptimeMs: 412, listenFailure: TAKEN },
    'could not listen on port 80, which the app "web" holds, and exited with code 0 after 412ms',
  ],
  [
    { code: null, signal: 'SIGINT', cause: 'boot-timeout', by: 'it could not', uptimeMs: 1_000, listenFailure: TAKEN },
    'could not listen on port 80, which the app "web" holds, and did not listen on another address',
  ],
])('the death %o reads "%s"', (death, words) => {
  expect(describeEnd(death, { listenTimeoutMs: 3_000 })).toBe(words);
});

test.each([
  [{ cause: 'stop', by: 'stop' }, true],
  [{ cause: 'signal', by: 'sendSignal SIGKILL' }, true],
  [{ cause: 'signal', by: null }, false],
  [{ cause: 'out-of-memory', by: 'the kernel' }, false],
  [{ cause: 'crash', by: null }, false],
])('whether a user or a rollout asked for the death %o: %s', (death, expected) => {
  expect(isAsked(death)).toBe(expected);
});

test('a death is quoted with its error line and frame, unless its text contains them', () => {
  expect(quoteErrorLine({ cause: 'crash', words: 'Error: a', frame: 'b (b.js:1)' })).toBe(', "Error: a" in b (b.js:1)');
  expect(quoteErrorLine({ cause: 'crash', words: 'Error: a' })).toBe(', "Error: a"');
  expect(quoteErrorLine({ cause: 'crash', words: '' })).toBe('');
  expect(quoteErrorLine({ cause: 'spawn-failed', words: 'ENOENT' })).toBe('');
  expect(quoteErrorLine({ cause: 'crash', words: 'Error: listen EADDRINUSE', listenFailure: TAKEN })).toBe('');
});

test.each([
  [{}, 'could not listen on port 80, which the app "web" holds'],
  [{ app: null }, 'could not listen on port 80, which another program holds'],
  [{ app: null, holder: { pid: 7, command: 'nginx' } }, 'could not listen on port 80, which nginx (pid 7) holds'],
  [{ app: null, holder: OF_BOB }, 'could not listen on port 80, which a program of user bob holds'],
  [
    { app: null, holder: KEEPER },
    'could not listen on port 80, which the nclust in "/home/ann/my apps" (user ann, pid 7) holds',
  ],
  [{ address: '127.0.0.1', family: 4 }, 'could not listen on 127.0.0.1:80, which the app "web" holds'],
  [{ address: '::1' }, 'could not listen on [::1]:80, which the app "web" holds'],
  [{ address: '/run/x.sock', port: 0, family: 0 }, 'could not listen on "/run/x.sock", which the app "web" holds'],
  [{ code: 'EACCES' }, 'could not listen on port 80, because its user is not allowed to (EACCES)'],
  [{ code: 'EADDRNOTAVAIL' }, 'could not listen on port 80 (EADDRNOTAVAIL)'],
])('a listen() that failed (%o) reads: it %s', (failure, words) => {
  expect(describeListenFailure({ ...TAKEN, ...failure })).toBe(words);
});

test.each([
  [{ app: null }, 'Give it another port, or end the program that holds this one'],
  [
    { app: null, holder: OF_BOB },
    'Give it another port, or find what holds this one, as root: ss -ltunp "sport = :80"',
  ],
  [
    { app: null, holder: KEEPER },
    'Give it another port, or stop the app that holds it. ' +
      "As user ann, find the app with: NCLUST_HOME='/home/ann/my apps' nclust list",
  ],
  [
    { app: null, holder: { pid: 7, command: 'node', isPm2: true } },
    'An app of PM2 holds it. Find it with: pm2 list; then: pm2 stop <app>',
  ],
])('the advice on a listen() that failed (%o) is: %s', (failure, words) => {
  expect(adviseOnListenFailure({ ...TAKEN, ...failure })).toBe(words);
});
