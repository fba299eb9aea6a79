import { type AgentRequest, type GivenLimits, planRun, type StepInput } from 'loopwright';

/** A draft and its review: the smallest plan that can end in every way. */
export const draftPlan = (
  options: {
    readonly limits?: GivenLimits;
    readonly onLimit?: 'ask' | 'stop';
    readonly attempts?: number;
  } = {},
) => {
  const { limits, onLimit, attempts = 2 } = options;
  return planRun('draft', {
    steps: [
      { id: 'write', agent: 'writer' },
      { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
    ],
    roles: { writer: { attempts, backoffMs: 1 }, critic: { attempts, backoffMs: 1 } },
    ...(limits && { limits }),
    ...(onLimit && { onLimit }),
  });
};

/** Writes something new each time. */
export const writeNew = ({ feedback }: AgentRequest<StepInput>) => ({ text: `draft ${feedback.length + 1}` });

/** Writes the same each time, whatever is said of it. */
export const writeSame = () => ({ text: 'draft' });

export const approve = () => ({ passed: true, issues: [] });

/** Finds another fault each time. */
export const reject = ({ input }: AgentRequest<StepInput>) => ({
  passed: false,
  issues: [
    {
      severity: 'critical',
      category: 'style',
      description: `not good: ${JSON.stringify(input.inputs['write'])}`,
    },
  ],
});

/** Approves the nth draft. */
export const approveNth = (nth: number) => (request: AgentRequest<StepInput>) =>
  JSON.stringify(request.input.inputs['write']).includes(`draft ${nth}`) ? approve() : reject(request);

export const never = (): Promise<never> => new Promise(() => undefined);

export const throwing = (): never => {
  throw new Error('out of order');
};

/** Holds agents back until it is opened. */
export const createGate = () => {
  let open: () => void = () => undefined;
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened: () => isOpen, open: () => open() };
};
