import { vi } from 'vitest';
import { noting } from './support/compared-logs.ts';

// Every log that a test makes is to be lived once more, also those of tests that know nothing of it: see `noting`. Nothing is left out of
// what the runtime does.
vi.mock('../src/runtime.ts', async (original) => {
  const real = await original<typeof import('../src/runtime.ts')>();
  // Its types are for callers: whatever they give and get goes through as it is.
  return { ...real, createRuntime: noting(real.createRuntime as Parameters<typeof noting>[0]) };
});
