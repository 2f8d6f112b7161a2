import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { ATTRIBUTES, listSpellings } from '../../lib/app-spec/table.js';
import { commentLines } from './comment-lines.js';

const HEAD = `// Made from the schema by test/generate/write.js; a test compares.

/** Variables of an app. Objects and lists become JSON. */
export type Variables = Record<string, unknown>;

/** One app of a config file. */
export interface AppConfig {`;

const TAIL = `  /** Variables that \`--env <name>\` adds to \`env\`. */
  [environment: \`env_\${string}\`]: Variables | string | string[] | undefined;
}

/** A folder to serve. */
export interface StaticConfig {
  name?: string;
  port?: number | string;
  host?: string;
  path?: string;
  spa?: boolean;
  ftp?: boolean;
  directory?: string | boolean;
  homepage?: string;
  basic_auth?: { username: string; password: string };
  [attribute: string]: unknown;
}

/** A config file: apps, folders to serve, and deployments. */
export interface Config {
  apps?: AppConfig | AppConfig[];
  static?: StaticConfig | StaticConfig[];
  /** By the name of the environment. */
  deploy?: Record<string, Record<string, unknown>>;
  /** For apps without an attribute \`notify\`. */
  notify?: AppConfig['notify'];
}

/** A value that a config file may export. */
export type ConfigExport = AppConfig | AppConfig[] | Config;

/** A function that a config file may export. It gets the environment of \`--env\`. */
export type ConfigFunction = (o: { env: string | null }) => ConfigExport | Promise<ConfigExport>;
`;

/** @returns {Promise<string>} */
export async function configTypes() {
  const text = [HEAD, ...ATTRIBUTES.flatMap(linesFor), TAIL].join('\n');
  return format(text, { ...(await resolveConfig(fileURLToPath(import.meta.url))), parser: 'typescript' });
}

export function linesFor(row) {
  const [name, ...others] = listSpellings(row);
  const type = typeOf(row.schema ?? {});
  return [
    ...commentLines([
      row.meaning,
      ...(row.defaultText === undefined ? [] : [`default: ${row.defaultText}`]),
      ...(row.unit === undefined ? [] : [`a bare number is ${row.unit}`]),
    ]),
    `  ${name}?: ${type};`,
    ...others.flatMap((word) => [`  /** The same as \`${name}\`. */`, `  ${word}?: ${type};`]),
  ];
}

const PRIMITIVES = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
  object: 'Record<string, unknown>',
};

/** @param {any} schema */
function typeOf({ type, enum: words, anyOf, items, additionalProperties, properties, required = [] }) {
  if (words) return words.map((word) => JSON.stringify(word)).join(' | ');
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (type === undefined) return 'unknown';
  const types = [type].flat().map((one) => {
    if (one === 'array') return `(${typeOf(items ?? {})})[]`.replace(/^\((\w+)\)\[\]$/, '$1[]');
    if (one === 'object' && properties)
      return `{ ${Object.entries(properties)
        .map(([key, value]) => `${key}${required.includes(key) ? '' : '?'}: ${typeOf(value)}`)
        .join('; ')} }`;
    if (one === 'object' && typeof additionalProperties === 'object')
      return `Record<string, ${typeOf(additionalProperties)}>`;
    return PRIMITIVES[one];
  });
  return [...new Set(types)].join(' | ');
}
