export const soakScale = Number(process.env.NCLUST_SOAK_SCALE ?? 1);

/**
 * Returns NCLUST_SOAK_SEED, or a seed from the clock. Prints the command that repeats the run.
 * @param {string} file  From the root of the project.
 * @param {string} [script]
 */
export function soakSeed(file, script = 'test:soak') {
  const seed = Number(process.env.NCLUST_SOAK_SEED ?? Date.now() % 1_000_000);
  process.stdout.write(
    `To repeat this: NCLUST_SOAK_SEED=${seed} NCLUST_SOAK_SCALE=${soakScale} npm run ${script} -- ${file}\n`,
  );
  return seed;
}
