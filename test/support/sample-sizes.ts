/**
 * How much a test tries: `quick` in `npm test`, `full` in `npm run test:all` and so in CI, `deep` before a release. Every promise has its
 * tests at each size; only the number of samples differs. `vitest.config.ts` sets it from `--mode`.
 */
const size = process.env['LOOPWRIGHT_TESTS'];

export const isDeep = size === 'deep';
const isFull = size === 'full';

/** The number of samples for the size that was asked for. */
export const rounds = (full: number, deep: number, quick = full): number =>
  isDeep ? deep : isFull ? full : quick;
