import { readdirSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';
import { builtSource, LOADED_BY_NODE } from './test/built-source.ts';
import { LongFilesFirst } from './test/long-files-first.ts';
import { SummaryReporter } from './test/summary-reporter.ts';

// Each Node process that is started reads these certificates before anything else, which takes longer than all of its own start; tests start
// many, and none asks anybody outside.
delete process.env['NODE_EXTRA_CA_CERTS'];

const NO_TESTS = [...configDefaults.exclude, 'build/**', 'dist/**'];
/**
 * What measures time or memory of its own process, which others have used before it; and what puts something in the place of modules
 * (`vi.mock`): those that a worker has loaded for another file stay as they are.
 */
const ALONE = ['test/events/payload-limits.test.ts', 'test/simulation/runtime-simulation.test.ts'];
const TOGETHER = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `test/${path}`)
  .filter((path) => !ALONE.includes(path));
const SETUP = 'test/compare-logs.ts';

/** What both projects have in common. They do not extend the whole: then what goes before all tests would be done for each of them again. */
const commonOf = (size: 'quick' | 'full' | 'deep') =>
  ({
    // Tests that import `loopwright` by name get its source, as the type checker does, and packages as Node would give them.
    ssr: { resolve: { conditions: ['loopwright-source', 'node'] } },
    test: {
      environment: 'node',
      pool: 'forks',
      setupFiles: [SETUP],
      server: { deps: { external: LOADED_BY_NODE } },
      testTimeout: size === 'deep' ? 2 * 60 * 60 * 1000 : 240_000,
      hookTimeout: size === 'deep' ? 2 * 60 * 60 * 1000 : 240_000,
      // A machine that is busy with other things takes longer than the usual second.
      expect: { poll: { timeout: 10_000 } },
      // See `test/support/sample-sizes.ts`.
      env: { LOOPWRIGHT_TESTS: size },
    },
  }) as const;

export default defineConfig(({ mode }) => {
  const COMMON = commonOf(mode === 'full' || mode === 'deep' ? mode : 'quick');
  return {
    test: {
      // By default one core is left to vitest itself, which has little to do.
      maxWorkers: 2,
      sequence: { sequencer: LongFilesFirst },
      globalSetup: ['test/global-setup.ts'],
      projects: [
        {
          ...COMMON,
          plugins: [builtSource([SETUP, ...TOGETHER])],
          test: {
            ...COMMON.test,
            name: 'together',
            // A worker keeps its modules from file to file, and what was compiled of them: a third of the time goes into that otherwise.
            isolate: false,
            include: ['test/**/*.test.ts'],
            exclude: [...NO_TESTS, ...ALONE],
            typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
          },
        },
        {
          ...COMMON,
          plugins: [builtSource([SETUP, ...ALONE])],
          test: { ...COMMON.test, name: 'alone', include: ALONE },
        },
      ],
      reporters: ['default', new SummaryReporter()],
    },
  };
});
