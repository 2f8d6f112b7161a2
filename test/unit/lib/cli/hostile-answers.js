import { checkSpec } from '../../../../lib/app-spec/check.js';
import { notificationLine } from '../../../../lib/shared/wire/rpc.js';
import { sampleOf } from '../monit/sample.js';
import { death, slotStatus, trouble } from '../slots.js';

/** Writes the clipboard, clears the screen, beeps, and hides, colours and reverses the text. */
export const HOSTILE =
  '\u001b]52;c;aGk=\u0007\u001b[2J\u001b[8m\u001b[31m\u0085\u009b2J\u007f\u0000\r\u202e\u2066\u200f\u061c';

export const IN_FILE = '\u009b2J\u202e\u2066';

export const evil = (word) => `${word}${HOSTILE}`;

export const NAME = evil('api');

const SLOT = {
  ...slotStatus({
    name: NAME,
    namespace: evil('shop'),
    version: evil('1.2.3'),
    user: evil('root'),
    script: evil('/srv/app.js'),
    args: [evil('--port'), evil('80')],
    interpreter: evil('/usr/bin/node'),
    interpreterArgs: [evil('--inspect')],
    cwd: evil('/srv'),
    outFile: evil('/l/out.log'),
    errorFile: evil('/l/err.log'),
    logFile: evil('/l/both.log'),
    pidFile: evil('/h/pid'),
    nodeVersion: evil('v20.11.0'),
    addresses: [{ address: evil('127.0.0.1'), port: 80, family: evil('IPv4') }],
    listenFailure: {
      address: evil('127.0.0.1'),
      port: 80,
      family: 4,
      code: evil('EADDRINUSE'),
      app: null,
      holder: { pid: 7, command: evil('nginx'), nclust: { home: evil('/home'), user: evil('ann') } },
    },
    // The command `profile` gives its file to the owner of the process with this pid, so the user
    // who runs the tests must own this process.
    pid: process.pid,
    waitingFor: evil('a restart'),
    lastDeath: death({ by: evil('you'), lastLines: [evil('Error: no')], signal: evil('SIGTERM') }),
    deaths: [death({ by: evil('you'), lastLines: [evil('Error: no')], cause: evil('crash') })],
    effectiveEnv: { [evil('KEY')]: evil('value') },
  }),
  logLost: { lines: 1, bytes: 1, reason: evil('disk') },
  shipping: [{ target: evil('exec:x'), sent: 1, dropped: 1, problem: evil('gone') }],
  triggers: {
    watch: { paths: [evil('src')], isReady: false, problem: evil('none') },
    nextRunMs: 1,
    memory: null,
    last: { atMs: 1, by: evil('watch: x'), problem: evil('bad') },
  },
  axm: {
    actions: [{ action_name: evil('clear'), action_type: evil('custom'), arity: 0 }],
    monitor: { [evil('orders')]: { value: evil('3'), unit: evil('/s') } },
    options: { [evil('x')]: evil('y') },
  },
  spec: {
    ...checkSpec({
      name: 'api',
      kind: 'node',
      mode: 'fork',
      file: '/usr/bin/node',
      script: '/srv/app.js',
      cwd: '/srv',
    }),
    env: { [evil('KEY')]: evil('value') },
    versioning: { type: 'git', branch: evil('main'), comment: evil('fix'), remotes: [evil('origin')] },
    logShip: [evil('exec:x')],
    cronRestart: evil('* * * * *'),
    logDateFormat: evil('YYYY'),
    watch: [evil('src')],
    ignoreWatch: [evil('tmp')],
    secrets: { [evil('SECRET')]: { file: evil('/s') } },
  },
};

const REPLIES = [
  { id: 0, name: NAME, slot: 0, outcome: 'replied', reply: evil('two\nlines') },
  { id: 1, name: NAME, slot: 1, outcome: 'replied', reply: { [evil('key')]: evil('value') } },
  { id: 2, name: NAME, slot: 2, outcome: 'silent', reason: evil('late') },
  { id: 3, name: NAME, slot: 3, outcome: 'unreachable', reason: evil('gone') },
];

const TROUBLES = [
  trouble('port-taken', { app: NAME, evidence: { failure: SLOT.listenFailure } }),
  trouble('failing', { app: NAME, slots: [], evidence: { share: 0.5, perS: 3, line: evil('Error: no') } }),
  trouble(evil('of-later'), { app: NAME }),
];

const SAMPLE = sampleOf({
  [NAME]: [{ custom: { [evil('orders')]: { value: evil('3'), unit: evil('/s'), type: evil('gauge') } } }],
});

const changed = () => ({ slots: [SLOT] });
const entries = [evil('a line'), JSON.stringify({ level: 30, msg: evil('hi'), [evil('k')]: evil('v') })].map(
  (line) => ({
    id: 0,
    name: NAME,
    stream: 'err',
    line,
    atMs: 1,
  }),
);

export const ANSWERS = {
  list: () => ({ slots: [SLOT], notices: [evil('A notice.')] }),
  sockets: () => ({
    sockets: [{ app: evil('api'), address: evil('::'), port: 80, users: [{ id: 0, slot: 0, pid: 7 }] }],
  }),
  metrics: () => ({ ...SAMPLE, troubles: TROUBLES }),
  troubles: () => ({ troubles: TROUBLES }),
  notify: () => ({
    receivers: [
      {
        receiver: evil('https://example.com/…'),
        names: [evil('ops')],
        rules: [{ source: evil('ops'), isOfApp: false, level: 'warn', apps: [NAME], afterMs: 1, repeatMs: 0 }],
        ...{ waiting: 1, waitingSinceMs: 1, dropped: 1, sentMs: 1, problem: evil('it fails') },
      },
    ],
  }),
  notifyTest: () => ({ results: [{ receiver: evil('https://x'), names: [NAME], problem: evil('it fails') }] }),
  logs: ({ subscription }, socket) => {
    socket.write(
      notificationLine('log', { subscription, entries, missed: 1, missedOf: { [NAME]: 1 }, gap: true, gapOf: [NAME] }),
    );
    return { subscription };
  },
  trigger: () => ({ replies: REPLIES }),
  inspect: () => ({ slot: SLOT, url: `ws://127.0.0.1:1/${HOSTILE}`, was: null }),
  stack: () => ({
    slot: SLOT,
    stack: {
      samples: 9,
      busy: 1,
      frames: [{ name: evil('f'), url: evil('file:///a.js'), line: 1, column: 1 }],
      resources: { [evil('Timeout')]: 2 },
    },
  }),
  profile: () => ({ bytes: 1 }),
  flush: () => ({ files: [{ path: evil('/l/out.log'), bytes: 1 }] }),
  sendInput: changed,
  save: () => ({ apps: 1, file: evil('/h/dump.json') }),
  kill: () => ({}),
  apply: () => ({
    plan: [
      {
        name: NAME,
        action: 'rollout',
        changes: [{ field: 'cwd', attribute: evil('cwd'), before: evil('a'), after: evil('b') }],
      },
    ],
    left: [NAME],
    slots: [SLOT],
  }),
  web: () => ({
    isOn: true,
    url: evil('http://127.0.0.1:1/'),
    host: evil('127.0.0.1'),
    port: 1,
    takenPorts: [2],
    mayAct: false,
    isRemote: true,
  }),
  unset: ({ key }) => ({
    settings: [{ key, value: evil('x'), isSet: false, help: evil('y') }],
    wasSet: true,
  }),
  settings: () => ({ settings: [{ key: 'web.listen', value: evil('x'), isSet: true, help: evil('y') }] }),
  ...Object.fromEntries(
    [
      'start',
      'stop',
      'restart',
      'reload',
      'rollback',
      'delete',
      'restartFromFile',
      'scale',
      'reset',
      'signal',
      'resurrect',
    ].map((name) => [name, changed]),
  ),
};

export const EVENTS = {
  died: {
    code: 1,
    signal: evil('SIGKILL'),
    cause: evil('crash'),
    by: evil('you'),
    uptimeMs: 1,
    words: evil('Error'),
    lines: [evil('x')],
  },
  added: { by: evil('you'), instances: 1 },
  config: { attributes: [evil('cwd')], by: evil('you') },
  'trigger:failed': { by: evil('watch'), message: evil('no') },
  'rollout:halted': { reason: evil('bad'), generation: 2 },
  'manager:crashed': { message: evil('TypeError') },
  [evil('own')]: { data: evil('x') },
};
