import { projection } from 'loopwright';

interface Sizes {
  readonly entries: number;
  readonly texts: number;
  readonly byParts: Readonly<Record<string, number>>;
}

const none: Sizes = { entries: 0, texts: 0, byParts: {} };

/** Of one run of the ledger: counts that a row which is folded twice, or not at all, would make wrong. */
export const sizes = projection({
  name: 'sizes',
  version: 1,
  partition: 'run',
  initial: none,
  on: {
    ADD: (state, { data }) => {
      const { parts, text } = data as { parts: number; text: string };
      state.entries += 1;
      state.texts += text.length;
      state.byParts[`p${parts}`] = (state.byParts[`p${parts}`] ?? 0) + 1;
    },
  },
});

/** Of the whole log: a sum over all positions. */
export const everything = projection({
  name: 'everything',
  version: 1,
  partition: 'log',
  initial: { events: 0, sum: 0 },
  on: {
    '*': (state, { position }) => {
      state.events += 1;
      state.sum += position;
    },
  },
});
