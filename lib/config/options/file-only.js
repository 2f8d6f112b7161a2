import { asEnvironment, asMode, asPort, ENVIRONMENT_FORMS, MODE_FORMS, PORT_FORMS } from './file-readers.js';
import { KINDS } from './value-kinds.js';

const { flag, text, words } = KINDS;

/** What a config file alone says, because on the command line it stands elsewhere or has no use. @type {import('./options.js').StartOption[]} */
export const FILE_OPTIONS = [
  { name: 'script', aliases: ['exec', 'cmd', 'command'], key: 'script', ...text, help: 'what is run: a file, a program in PATH, or a shell command when it has a space' },
  { name: 'args', key: 'args', ...words, default: 'none', help: 'arguments for the app; in a text, quotes count as in a shell' },
  { name: 'exec_mode', key: 'execMode', read: asMode, accepted: MODE_FORMS, schema: { enum: ['fork', 'fork_mode', 'cluster', 'cluster_mode'] }, default: 'cluster for Node.js programs when "instances" is given, else fork', help: 'whether instances share their ports (cluster) or know nothing of each other (fork)' },
  { name: 'env', key: 'env', field: 'env', read: asEnvironment, accepted: ENVIRONMENT_FORMS, schema: { type: 'object' }, default: 'none', help: 'variables for the app; objects and lists become JSON' },
  { name: 'port', key: 'port', read: asPort, accepted: PORT_FORMS, schema: { type: ['integer', 'string'] }, default: 'none', help: 'the variable PORT' },
  { name: 'username', key: 'username', field: 'user', ...text, default: 'who it runs as', help: 'the user that lists show' },
  { name: 'append_env_to_name', key: 'appendEnvToName', ...flag, default: 'false', help: 'with --env, its name becomes part of the app\'s: name-production' },
];
