import { NclustError } from '../../shared/errors.js';
import { explainCode } from '../../shared/host/as-user.js';

/**
 * @template T
 * @param {string} file
 * @param {() => T} write
 */
export function explainUnwritable(file, write) {
  try {
    return write();
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause);
    if (code === undefined) throw cause;
    throw new NclustError(
      'ERR_NCLUST_FILE_UNWRITABLE',
      `"${file}" cannot be written (${explainCode(cause)}); nothing was changed.`,
      {
        hint: code === 'EINVAL' ? 'Move it away.' : 'Fix the permissions of the file or of its folder.',
        data: { file },
        cause,
      },
    );
  }
}
