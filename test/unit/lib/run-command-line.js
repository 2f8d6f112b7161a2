import { runProgram } from '../../../lib/cli/program.js';

/**
 * Runs a command line in this process, without a terminal.
 * @param {string[]} argv
 * @param {Partial<Parameters<typeof runProgram>[1]>} io
 * @returns {Promise<{ exitStatus: number, stdout: string, stderr: string }>}
 */
export async function runCommandLine(argv, io) {
  let stdout = '';
  let stderr = '';
  const exitStatus = await runProgram(argv, {
    print: async (text) => {
      stdout += text;
    },
    printMessage: (text) => {
      stderr += text;
    },
    isTTY: false,
    isTalkTTY: false,
    colourLevels: async () => ({ stdout: 0, stderr: 0 }),
    columns: null,
    talkSize: () => ({ columns: 80, rows: 24 }),
    onInterrupt: () => () => {},
    cwd: process.cwd(),
    env: {},
    platform: 'linux',
    node: { file: process.execPath, version: process.version },
    ...io,
  });
  return { exitStatus, stdout, stderr };
}
