// ESLint core rules only, and only those that find mistakes the type checker cannot. Prettier does
// the format.

const mistakes = {
  'array-callback-return': 'error',
  'consistent-return': 'off',
  'default-case-last': 'error',
  eqeqeq: ['error', 'always'],
  'for-direction': 'error',
  'guard-for-in': 'error',
  'no-async-promise-executor': 'error',
  'no-case-declarations': 'error',
  'no-cond-assign': 'error',
  'no-constant-binary-expression': 'error',
  'no-constant-condition': ['error', { checkLoops: false }],
  'no-control-regex': 'off',
  'no-debugger': 'error',
  'no-dupe-else-if': 'error',
  'no-duplicate-case': 'error',
  'no-empty': ['error', { allowEmptyCatch: false }],
  'no-empty-pattern': 'error',
  'no-fallthrough': 'error',
  'no-implied-eval': 'error',
  'no-loss-of-precision': 'error',
  'no-self-assign': 'error',
  'no-self-compare': 'error',
  'no-template-curly-in-string': 'error',
  'no-unreachable': 'error',
  'no-unsafe-finally': 'error',
  'no-unsafe-optional-chaining': 'error',
  'no-unused-expressions': 'error',
  'no-unused-vars': [
    'error',
    {
      args: 'after-used',
      argsIgnorePattern: '^_',
      varsIgnorePattern: '^_',
      ignoreRestSiblings: true,
      caughtErrors: 'all',
    },
  ],
  'no-useless-catch': 'error',
  'no-useless-return': 'error',
  'no-var': 'error',
  'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'] }],
  'object-shorthand': 'error',
  'prefer-const': 'error',
  'require-yield': 'error',
  'symbol-description': 'error',
  'use-isnan': 'error',
  'valid-typeof': 'error',
};

const namedExportsOnly = {
  selector: 'ExportDefaultDeclaration',
  message: 'Named exports only: one name for one thing, wherever it is imported.',
};

const sleeps = [
  { name: 'setTimeout', message: 'A test waits for events: waitFor() in test/helpers/wait-for.js.' },
  { name: 'setInterval', message: 'A test waits for events: waitFor() in test/helpers/wait-for.js.' },
];

export default [
  { ignores: ['**/node_modules/', 'coverage/', 'test/bench/results/', 'test/fixtures/broken/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  { files: ['**/*.{js,cjs,mjs}'], rules: mistakes },
  {
    files: ['bin/**', 'lib/**', 'daemon/**'],
    rules: { 'no-console': 'error', 'no-restricted-syntax': ['error', namedExportsOnly] },
  },
  { files: ['bin/**', 'lib/render/**'], rules: { 'no-console': 'off' } },
  {
    files: ['test/**/*.js'],
    ignores: [
      'test/helpers/**',
      'test/fixtures/**',
      'test/frameworks/**',
      'test/bench/**',
      'test/nodes/**',
      'test/browser/demo/**',
      'test/browser/screenshots.js',
    ],
    rules: {
      'no-restricted-globals': ['error', ...sleeps],
      'no-restricted-imports': ['error', { paths: [{ name: 'node:timers/promises', message: sleeps[0].message }] }],
    },
  },
];
