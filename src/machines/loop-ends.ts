import type { Verdict } from '../events/turn.ts';
import type { QuestionOutput } from './question-machine.ts';

/** What a machine hears when the question that it invoked is over. */
interface Answered {
  readonly event: { readonly output: QuestionOutput };
}

const said = ({ event }: Answered): QuestionOutput => event.output;
const decide = { type: 'decide', params: said } as const;

/** A person's answer ends the loop with this verdict. */
export const onEnd = <Name extends Verdict>(verdict: Name) =>
  ({
    guard: { type: 'ends', params: ({ event }: Answered) => ({ said: event.output, verdict }) },
    target: verdict,
    actions: decide,
  }) as const;

/** Where a person's answer leads to: back to work, or to an end. */
export const decisions = [
  { guard: { type: 'goesOn', params: said }, target: 'working', actions: decide },
  onEnd('accepted'),
  onEnd('cancelled'),
  { target: 'stopping', actions: decide },
] as const;

/** A loop that does not go on ends with what has halted it. */
export const stopping = {
  always: [
    { guard: { type: 'isHaltedAs', params: 'exhausted' }, target: 'exhausted' },
    { guard: { type: 'isHaltedAs', params: 'stalled' }, target: 'stalled' },
    { target: 'failed' },
  ],
} as const;

const final = <Name extends Verdict>(verdict: Name) => ({ type: 'final', output: verdict }) as const;

/** States in which a loop waits for a person: its parent hears of it. */
export const tellsParent = {
  entry: { type: 'tellWaits', params: true },
  exit: { type: 'tellWaits', params: false },
} as const;

/** One final state for each verdict. They tell of the end by actions that are given the verdict. */
export const finalsThat = <const Action extends string>(...actions: readonly Action[]) => {
  const telling = <Name extends Verdict>(verdict: Name) => ({
    ...final(verdict),
    entry: actions.map((type) => ({ type, params: verdict })),
  });
  return {
    verified: telling('verified'),
    accepted: telling('accepted'),
    exhausted: telling('exhausted'),
    stalled: telling('stalled'),
    cancelled: telling('cancelled'),
    failed: telling('failed'),
  };
};
