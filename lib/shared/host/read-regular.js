import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** The file is not as it should be. `message` follows its path. */
export class Unfit extends Error {
  /** It has more bytes than were asked for. */
  isTooLong = false;
}

/** Of a file whose size the system does not know, such as those of /proc. */
const FIRST_BYTES = 4_096;

/**
 * Reads a file that somebody else looks after: no named pipe, device or folder, and no more than is
 * expected of it. The thread does not wait for it.
 * @param {string} file
 * @param {number} maxBytes
 * @returns {Promise<Buffer>}  Rejects with Unfit, or with what the system says.
 */
export async function readRegular(file, maxBytes) {
  // open() waits for the other end of a named pipe.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Unfit('is no file');
    if (stat.size > maxBytes) throw tooLong(maxBytes);
    let bytes = Buffer.alloc(Math.min(maxBytes, stat.size || FIRST_BYTES) + 1);
    let length = 0;
    for (let got = -1; got !== 0; length += got) {
      if (length > maxBytes) throw tooLong(maxBytes);
      // It grows as it is read.
      if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(maxBytes + 1, 2 * length));
      got = (await handle.read(bytes, length, bytes.length - length)).bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await handle.close();
  }
}

/** @param {number} maxBytes */
function tooLong(maxBytes) {
  return Object.assign(new Unfit(`has more than ${maxBytes / 1024} KiB`), { isTooLong: true });
}
