import type { Reporter, TestModule } from 'vitest/node';

/** Ends the report with one line that a script can read: `12 passed, 0 failed`. */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const passed = modules.reduce((sum, module) => sum + count(module, 'passed'), 0);
    // A file that could not be loaded and an error outside any test have no test to count: each counts as one.
    const failed = modules.reduce((sum, module) => {
      const failedTests = count(module, 'failed');
      return sum + (failedTests === 0 && module.state() === 'failed' ? 1 : failedTests);
    }, unhandledErrors.length);
    // A run in which nothing ran (a failed build, a filter with a typing error) must not look like a success.
    const hasRun = passed + failed > 0;
    if (!hasRun) process.exitCode = 1;
    process.stdout.write(`${passed} passed, ${hasRun ? failed : 1} failed\n`);
  }
}

function count(module: TestModule, state: 'passed' | 'failed'): number {
  return [...module.children.allTests(state)].length;
}
