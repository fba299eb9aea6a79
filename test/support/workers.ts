import { resolve } from 'node:path';

const BUILT_WORKERS = resolve(import.meta.dirname, '../../build/workers');

/** The program in `test/workers/<name>.ts`, as it was before the tests began, to be started with `node`. */
export const workerPath = (name: string): string => resolve(BUILT_WORKERS, `${name}.cjs`);
