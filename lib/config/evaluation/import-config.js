import { register } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Imports a config file. If package.json declares the wrong module format, imports the file again
 * in the right format. If the right format is CommonJS, the first import has run the lines before
 * the first `require` or `module` as an ES module, so these lines run twice.
 * @param {string} file
 * @returns {Promise<Record<string, unknown>>}
 */
export async function importConfig(file) {
  const { href } = pathToFileURL(file);
  try {
    return await import(href);
  } catch (error) {
    const format = otherFormat(error, file);
    if (format === null) throw error;
    const url = `${href}?as=${format}`;
    register('./force-format.js', import.meta.url, { data: { url, format } });
    return import(url);
  }
}

const IS_MODULE = new RegExp(
  [
    /^Unexpected token 'export'/,
    /^Cannot use import statement outside a module/,
    /^Cannot use 'import\.meta' outside a module/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/**
 * @param {unknown} error
 * @param {string} file
 * @returns {string | null}  The right format. Null: the error is not about the format, the
 *   extension determines the format, or a .ts file would need CommonJS.
 */
function otherFormat(error, file) {
  const extension = extname(file);
  if (!(error instanceof Error) || !['.js', '.ts'].includes(extension)) return null;
  if (IS_MODULE.test(error.message)) return extension === '.ts' ? 'module-typescript' : 'module';
  return extension === '.js' &&
    /^(module|exports|require|__dirname|__filename) is not defined in ES module scope/.test(error.message)
    ? 'commonjs'
    : null;
}
