// The standard input of a program: a pipe whose other end the keeper holds. When it dies, the program sees the end of the file, as when a shell goes.
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * @typedef {object} Input
 * @property {number} fd  For the program. `given` closes it here.
 * @property {() => Socket} given  The program has its copy. What is written into the socket waits for it to be read; the caller destroys it.
 * @property {() => void} close  There is no program after all.
 */

/**
 * Node gives its children a socket for a pipe, and a bash whose standard input is a socket believes that it was started by ssh and reads ~/.bashrc.
 * @param {string} path  Of a named pipe that nobody has open. Its name is removed.
 * @returns {Input}
 */
export function openInput(path) {
  /** @type {number[]} */
  const open = [];
  const opened = (/** @type {number} */ flags) => {
    const fd = openSync(path, flags);
    open.push(fd);
    return fd;
  };
  const close = () => open.splice(0).forEach((fd) => closeSync(fd));
  try {
    // With both ends open nothing below has to wait. The program's is in blocking mode, and it must not be able to write: it would wait for itself.
    const both = opened(constants.O_RDWR);
    const fd = opened(constants.O_RDONLY);
    const end = opened(constants.O_WRONLY | constants.O_NONBLOCK);
    closeSync(both);
    open.shift();
    return {
      fd,
      close,
      given() {
        closeSync(fd);
        open.length = 0;
        // A program that has closed its end, or has ended: the next line for it is refused.
        return new Socket({ fd: end, readable: false, writable: true }).on('error', () => {});
      },
    };
  } catch (error) {
    close();
    throw error;
  } finally {
    rmSync(path, { force: true });
  }
}
