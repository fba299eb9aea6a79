import { z } from 'zod';
import { SEVERITIES } from '../events/severity.ts';
import { LIMITS, type LimitName } from '../machines/limits.ts';
import { forms } from './form-registry.ts';

/** Part of addresses: the same as in plans. */
const ID = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}$/;

export const id = z
  .string()
  .regex(ID)
  .register(forms, { id: 'id', description: 'Letters, digits, "_", ".", ":" and "-"; at most 100.' });
export const ids = z.array(id);
export const text = z.string();
export const json = z.unknown();
export const count = z.int().min(1);
export const milliseconds = z.number().min(0);

export const option = <Form extends z.ZodType>(form: Form, description: string) =>
  form.optional().describe(description);

const bound = z.number().min(0).nullable();

/** The bounds of a loop, as `limits` of the TypeScript API has them. */
export const limits = z
  .strictObject({
    // The keys of LIMITS are the names.
    ...(Object.fromEntries(
      Object.entries(LIMITS).map(([name, { usual, counts }]) => [
        name,
        option(bound, `At most so many ${counts}; ${usual ?? 'no limit'} for most loops unless set.`),
      ]),
    ) as Record<LimitName, z.ZodOptional<typeof bound>>),
    unbounded: option(
      text.min(1),
      'Why this loop may go on for ever, in words. Without it, a loop without a bound is refused.',
    ),
  })
  .register(forms, { id: 'limits', description: 'What makes the loop end. Null takes a limit away.' });

const ROLE = {
  attempts: option(count, 'How often a request is tried; 3 unless set.'),
  backoffMs: option(
    milliseconds,
    'How long to wait before the second attempt, in milliseconds; each further wait is twice as long.',
  ),
  timeLimitMs: option(
    z.number().gt(0).nullable(),
    "How long one attempt may run, in milliseconds; null for no limit but the agent's own.",
  ),
};
/** What an agent's description may say about how it is called: it goes to `roles` of the definition. */
export const ROLE_OPTIONS = Object.keys(ROLE);
export const roleShape = ROLE;
export const role = z
  .strictObject(ROLE)
  .register(forms, { id: 'role', description: 'How an agent is called.' });

const level = z
  .strictObject({
    to: text.nullable().describe('Who is asked; null for whoever is there.'),
    expiresMs: z
      .number()
      .gt(0)
      .nullable()
      .describe('For how long, in milliseconds; null for as long as it takes.'),
  })
  .register(forms, { id: 'level' });
export const levels = z.array(level);

export const deciding = {
  onLimit: option(
    z.enum(['ask', 'stop']),
    'What happens at a limit, or when an agent has failed for good: a person is asked (unless set), or the run ends.',
  ),
  ask: option(levels, 'Who is asked, one after the other; one person for as long as it takes unless set.'),
  onExpiry: option(
    z.enum(['cancel', 'stop']),
    'What happens if nobody answers in time; `stop` unless set. To accept or go on needs a person.',
  ),
};

export const roles = z
  .record(id, role)
  .register(forms, { id: 'roles', description: 'How agents are called, by their names.' });

export const questionOption = z.strictObject({
  id: text.min(1),
  label: text,
  impact: text.optional(),
  effort: text.optional(),
});

export const feedbackOption = z.strictObject({
  option: text.min(1),
  impact: text.optional(),
  effort: text.optional(),
  rerun: option(z.array(text), 'Agents, or steps, that work again with the decision.'),
  keep: option(z.boolean(), 'Whether results in between stay as they are.'),
  debt: option(z.boolean(), 'Whether choosing it leaves something open.'),
});

export const severity = z.enum(SEVERITIES);

export const gateRule = z.union([
  z.enum(['all', 'any-blocker']),
  z.strictObject({ quorum: count.describe('How many reviewers have to approve.') }),
]);
