/** The task that all are measured by: a loop of six steps, 300 bytes each, every step on disk before the next. */
export const STEPS = 6;
export const NOTE = 'x'.repeat(300);

/** To be awaited before each of the six steps: what was done before is on disk, and the next step may begin. */
export type Next = () => Promise<void> | undefined;

/** What is measured, open in its folder. */
export interface Contestant {
  /** A whole loop: starts it, does its six steps, and resolves when the last one is on disk. */
  readonly loop: (id: string, next: Next) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface ContestantModule {
  readonly open: (folder: string, variant: string) => Promise<Contestant>;
  /** Steps and whole loops on disk: read back by another process than the one that wrote them. */
  readonly readBack: (folder: string) => Promise<OnDisk>;
}

export interface OnDisk {
  readonly steps: number;
  readonly loops: number;
}

/** What the parent asks of a worker. */
export type Ask =
  | { readonly kind: 'slice'; readonly forMs: number; readonly loops: number }
  /** All loops to their ends; then the process closes what it has open, and ends. */
  | { readonly kind: 'finish' };

export interface Slice {
  readonly steps: number;
  readonly seconds: number;
}
