/** @import { TestModule } from 'vitest/node' */

/** Prints `flaky: file > title` for each test that failed at first and passed when tried again. */
export default class FlakyReporter {
  /** @param {readonly TestModule[]} modules */
  onTestRunEnd(modules) {
    for (const module of modules) {
      for (const test of module.children.allTests('passed')) {
        if (test.diagnostic()?.flaky) process.stdout.write(`flaky: ${module.relativeModuleId} > ${test.fullName}\n`);
      }
    }
  }
}
