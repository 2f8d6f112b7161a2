// Counts what a reader has to read, by folder: `npm run weight`, or `npm run weight -- lib/render`.
// TypeScript files and copied configs of other projects (test/fixtures/ecosystems) do not count.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Linter } from 'eslint';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SHIPPED = ['bin', 'lib', 'daemon'];
const UNITS = /** @type {const} */ (['files', 'statements', 'code', 'comments', 'tags']);

const linter = new Linter();

/**
 * @param {string} text
 * @param {boolean} isModule
 */
function weigh(text, isModule) {
  const sourceType = isModule ? 'module' : 'commonjs';
  const [fault] = linter.verify(text, { languageOptions: { sourceType, ecmaVersion: 'latest' } });
  if (fault?.fatal) throw new Error(fault.message);
  const { ast, visitorKeys } = linter.getSourceCode();
  const code = new Set();
  const comments = new Set();
  const note = (/** @type {Set<number>} */ set, /** @type {any} */ { loc }) => {
    for (let line = loc.start.line; line <= loc.end.line; line += 1) set.add(line);
  };
  for (const token of ast.tokens) note(code, token);
  for (const comment of ast.comments) note(comments, comment);
  let statements = 0;
  const visit = (/** @type {any} */ node) => {
    if (/Statement$|Declaration$/.test(node.type) && node.type !== 'BlockStatement') statements += 1;
    for (const key of visitorKeys[node.type]) for (const one of [node[key]].flat()) if (one) visit(one);
  };
  visit(ast);
  const tags = ast.comments.reduce((sum, { value }) => sum + (value.match(/^[\s*]*@\w/gm)?.length ?? 0), 0);
  return {
    files: 1,
    statements,
    code: code.size,
    comments: [...comments].filter((line) => !code.has(line)).length,
    tags,
  };
}

/** @param {string[]} targets  Folders or files. Empty: everything. */
function countByFolder(targets) {
  const sums = new Map();
  const paths = execFileSync('git', ['ls-files', '-z', '--', ...targets], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((path) => /\.[cm]?js$/.test(path) && !path.startsWith('test/fixtures/ecosystems/'));
  for (const path of paths) {
    const weight = weigh(readFileSync(`${ROOT}${path}`, 'utf8'), !path.endsWith('.cjs'));
    const [top, ...others] = dirname(path).split('/');
    const whole = SHIPPED.includes(top) ? 'all that users get' : 'all else';
    for (const folder of new Set([[top, ...others].join('/'), top, whole])) {
      const sum = sums.get(folder) ?? UNITS.map(() => 0);
      for (const [at, unit] of UNITS.entries()) sum[at] += weight[unit];
      sums.set(folder, sum);
    }
  }
  return sums;
}

/** @param {(string | number)[]} cells */
function print([name, ...numbers]) {
  console.log(String(name).padEnd(34) + numbers.map((one) => String(one).padStart(11)).join(''));
}

print(['', ...UNITS]);
for (const [folder, sum] of [...countByFolder(process.argv.slice(2))].sort(([a], [b]) => (a < b ? -1 : 1)))
  print([folder, ...sum]);
