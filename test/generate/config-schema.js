import { ATTRIBUTES, listSpellings } from '../../lib/app-spec/table.js';

/** @returns {string} */
export function configSchema() {
  const app = { $ref: '#/definitions/app' };
  const apps = { anyOf: [app, { type: 'array', items: app }] };
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A config file of nclust: nclust.config.*, ecosystem.config.*',
    anyOf: [app, { type: 'array', items: app }, { $ref: '#/definitions/config' }],
    definitions: {
      config: {
        type: 'object',
        anyOf: [{ required: ['apps'] }, { required: ['static'] }, { required: ['deploy'] }],
        properties: {
          $schema: { type: 'string' },
          apps,
          static: { type: ['array', 'object'] },
          deploy: { type: 'object', additionalProperties: { type: 'object' } },
          notify: ATTRIBUTES.find(({ name }) => name === 'notify').schema,
        },
        additionalProperties: false,
      },
      app: {
        type: 'object',
        properties: { $schema: { type: 'string' }, ...Object.fromEntries(ATTRIBUTES.flatMap(entriesFor)) },
        patternProperties: { '^env_': {} },
        additionalProperties: false,
        anyOf: ATTRIBUTES.filter(({ name }) => name === 'script')
          .flatMap(listSpellings)
          .map((word) => ({ required: [word] })),
      },
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

export function entriesFor(row) {
  const [name, ...others] = listSpellings(row);
  const facts = `${row.meaning}${row.defaultText === undefined ? '' : `. Default: ${row.defaultText}`}`;
  return [
    [name, { description: facts, ...row.schema }],
    ...others.map((word) => [word, { description: `The same as ${name}.`, ...row.schema }]),
  ];
}
