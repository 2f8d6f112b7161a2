import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** The file is not as it should be. `message` follows its path. */
export class Unfit extends Error {}

/**
 * Reads a file that somebody else looks after: no named pipe, device or folder, and no more than is
 * expected of it. The thread does not wait for it.
 * @param {string} file
 * @param {number} maxBytes
 * @returns {Promise<Buffer>}  Rejects with Unfit, or with what the system says.
 */
export async function readRegular(file, maxBytes) {
  // A named pipe that nobody writes to would be waited for.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Unfit('is no file');
    // It says nothing of a file of /proc how big it is.
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length <= maxBytes; length += got)
      got = (await handle.read(bytes, length, bytes.length - length)).bytesRead;
    if (length > maxBytes) throw new Unfit(`has more than ${maxBytes / 1024} KiB`);
    return Buffer.from(bytes.subarray(0, length));
  } finally {
    await handle.close();
  }
}
