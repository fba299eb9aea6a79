import { KILLERS } from './killers.ts';
import { SWITCHES } from './points.ts';

/** What the command asks of this program, which has all mutants in it, and what it answers. */
export type Order =
  | { readonly do: 'measure'; readonly among: string }
  | {
      readonly do: 'try';
      readonly place: string;
      readonly kind: string;
      readonly killers: readonly number[];
    };

export type Told =
  | {
      readonly told: 'measured';
      readonly killer: number;
      readonly ms: number;
      /** What differs although nothing is switched on. */
      readonly difference: string | null;
      /** The places that were passed. */
      readonly places: readonly string[];
    }
  | { readonly told: 'all measured' }
  | { readonly told: 'tried'; readonly by: string | null; readonly difference: string | null };

let active: { readonly place: string; readonly kind: string } | null = null;
const passed = new Set<string>();

const isOn = (place: string, kind: string): boolean => active?.place === place && active.kind === kind;

Object.assign(globalThis, {
  [SWITCHES.guard]: (place: string): boolean | undefined => {
    passed.add(place);
    if (active?.place !== place) return undefined;
    return active.kind === 'always true';
  },
  [SWITCHES.count]: (place: string, count: number): number => {
    passed.add(place);
    return isOn(place, 'does not count') ? 0 : count;
  },
  [SWITCHES.gone]: (place: string): boolean => {
    passed.add(place);
    return active?.place === place;
  },
});

const tell = (told: Told): void => {
  process.send?.(told);
};

const measure = (among: string): void => {
  for (const [killer, { name, run }] of KILLERS.entries()) {
    if (!among.split(',').some((part) => name.includes(part))) continue;
    passed.clear();
    const from = performance.now();
    const difference = run();
    tell({ told: 'measured', killer, ms: performance.now() - from, difference, places: [...passed] });
  }
  tell({ told: 'all measured' });
};

const attempt = ({ place, kind, killers }: Extract<Order, { do: 'try' }>): void => {
  for (const index of killers) {
    const killer = KILLERS[index];
    if (!killer) continue;
    active = { place, kind };
    let difference: string | null;
    try {
      difference = killer.run();
    } catch (error) {
      difference = `throws: ${error instanceof Error ? error.message.slice(0, 80) : String(error)}`;
    } finally {
      active = null;
    }
    if (difference !== null) return tell({ told: 'tried', by: killer.name, difference });
  }
  tell({ told: 'tried', by: null, difference: null });
};

process.on('message', (order: Order) => {
  if (order.do === 'measure') measure(order.among);
  else attempt(order);
});
