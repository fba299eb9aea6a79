import { z } from 'zod';
import { agentForm } from './agent-forms.ts';
import { aliasShape } from './aliases.ts';
import { count, deciding, gateRule, id, ids, json, limits, option, role, roles, text } from './form-parts.ts';
import { forms } from './form-registry.ts';
import { checks, gap, step } from './plan-form.ts';

const secrets = z
  .strictObject({
    values: option(z.array(text.min(4)), 'Secrets themselves. A file with them is one itself.'),
    names: option(z.array(text.min(1)), 'Names of members whose whole value is a secret: "password".'),
    shapes: option(z.boolean(), 'Whether tokens of a known shape are replaced too; true unless set.'),
  })
  .register(forms, { id: 'secrets', description: 'What must never be in the log.' });

const shared = {
  $schema: option(text, 'The JSON Schema of this file, for editors.'),
  name: option(id, 'Under which the log knows the workflow; the name of the file unless set.'),
  description: option(text, 'What it is for. It changes nothing.'),
  agents: z.record(id, agentForm).describe('What does the work, by name.'),
  input: option(json, 'What a run is started with, unless it is started with something else.'),
  secrets: secrets.optional(),
  turnsMax: option(count, 'After how many turns a run ends exhausted.'),
  limits: limits.optional(),
};

const tightOptions = {
  maxIterations: option(z.number().min(0), 'How many passes there may be; 5 unless set.'),
  strict: option(z.boolean(), 'Limits failures of any kind in a row to 3 for each check, too.'),
  enabled: option(z.boolean(), 'False: a single pass.'),
};

const tight = z
  .strictObject({
    loop: z.literal('tight'),
    ...shared,
    ...tightOptions,
    repeat: option(
      z.union([z.boolean(), z.number().min(0)]),
      'Calls the developer again until it says that it is done, so many times at most; true for 10.',
    ),
    ...deciding,
    roles: option(
      z.strictObject({
        developer: role.optional(),
        reviewer: role.optional(),
        tester: role.optional(),
      }),
      'How its agents are called.',
    ),
    ...aliasShape('tight'),
    settings: option(
      z.strictObject({ ...tightOptions, ...aliasShape('tight') }),
      'The same options, in a block of their own.',
    ),
  })
  .describe(
    'Implements, reviews and tests until review and tests both pass in the same pass. Agents: developer, reviewer, tester.',
  );

const plan = z
  .strictObject({
    loop: z.literal('plan'),
    ...shared,
    steps: z.array(step).min(1),
    checks: option(
      checks,
      'What must hold between results, or of one. A check by a function has no form in a file.',
    ),
    gap: gap.optional(),
    ...deciding,
    roles: roles.optional(),
  })
  .describe('Works through steps, and sends back what gates reject. A nested plan has no form in a file.');

const refinement = z.strictObject({
  maxIterations: option(z.int().min(0), 'How often a story may be sent back; 3 unless set: 4 reviews.'),
  escalateOnMaxAttempts: option(
    z.enum(['manual', 'error', 'skip']),
    'What happens then: a person is asked (unless set), the run ends failed, or the others go on.',
  ),
  enableCircuitBreaker: option(z.boolean(), 'False: there is no limit. `limits.unbounded` must say why.'),
});

const workPhase = z.enum(['research', 'plan', 'implement']);
const ACTIONS = [
  'rework',
  'research',
  'plan',
  'implement',
  'review',
  'create-pr',
  'manual-intervention',
] as const;

const stories = z
  .strictObject({
    loop: z.literal('stories'),
    ...shared,
    refinement: refinement.optional(),
    mode: option(
      z.enum(['auto', 'manual']),
      '`auto` runs until nothing is left; `manual`, unless set, does one action at a time.',
    ),
    reviewers: option(ids.min(1), 'The agents that review, side by side; `review` alone unless set.'),
    faults: option(
      z.strictObject({
        categories: z.record(text, workPhase).optional(),
        words: z.record(text, workPhase).optional(),
        otherwise: workPhase.optional(),
      }),
      'Which phase a finding points to.',
    ),
    priorities: option(
      z.strictObject(
        // One for each of them.
        Object.fromEntries(ACTIONS.map((name) => [name, z.number().optional()])) as Record<
          (typeof ACTIONS)[number],
          z.ZodOptional<z.ZodNumber>
        >,
      ),
      'How urgent each action is.',
    ),
    concurrency: option(count, 'How many stories are worked on at once; 4 unless set.'),
    ask: deciding.ask,
    onExpiry: deciding.onExpiry,
    onFailure: option(
      z.enum(['ask', 'stop']),
      'When an agent has failed for good: a person is asked (unless set), or the story ends.',
    ),
    roles: roles.optional(),
    ...aliasShape('stories'),
    settings: option(
      z.strictObject({ refinement: refinement.optional(), ...aliasShape('stories') }),
      'The same options, in a block of their own.',
    ),
  })
  .describe(
    'Takes stories through research, plan, implement, review and create-pr. Agents: research, plan, implement, create-pr, and the reviewers.',
  );

const phase = z.strictObject({
  id,
  kind: option(z.enum(['work', 'review', 'test']), '`work` unless set, or unless it has reviewers.'),
  agent: option(id, "Who does it; an agent of the phase's own name unless set."),
  reviewers: option(ids.min(1), 'Who judge side by side, if it is a review or a test.'),
  rule: option(gateRule, 'When several reviewers let it pass; `all` unless set.'),
  needs: option(ids, 'Phases whose outputs it is given, and reviews that it waits for.'),
  with: option(json, 'What it is given besides.'),
  passes: option(
    z.int().min(0).nullable(),
    'How many passes it may fail; 3 unless set, 2 for a test, null for as many as the run has.',
  ),
  history: option(z.boolean(), 'Whether it is given the whole history of corrections.'),
});

const phases = z
  .strictObject({
    loop: z.literal('phases'),
    ...shared,
    phases: option(
      z.array(phase).min(1),
      'The pipeline; planning, design, design-review, code, code-review, test and postmortem unless set. Shapes of inputs and outputs are functions or schemas: they have no form in a file.',
    ),
    reviewers: option(
      z.record(id, ids.min(1)),
      'Who reviews, by the review: in place of one agent of its name.',
    ),
    guideline: option(json, 'What reviewers are told about finding the phase at fault.'),
    needsImprovement: option(
      z.enum(['fail', 'pass']),
      'Whether a report that asks for improvement is corrected like a fail (unless set), or passes.',
    ),
    alertAbove: option(
      z.number().min(0).nullable(),
      'Above which correction rate somebody should look; 0.5 unless set.',
    ),
    ...deciding,
    roles: roles.optional(),
  })
  .describe('Works through phases, and corrects what is found wrong in the phase that made it.');

const node = z.strictObject({
  id,
  parent: option(id.nullable(), 'The node above it; the root has none.'),
  agent: option(id.nullable(), 'Who works on it; an agent of its own name unless set.'),
  plans: option(z.boolean(), 'Whether its agent may change the plan below it.'),
  needs: option(ids, 'Other nodes whose results it needs.'),
  with: option(json, 'What it is given besides.'),
  loop: option(
    z.union([
      z.literal(true),
      z.null(),
      z.strictObject({
        repeats: option(count.nullable(), 'How often at most; the limit of the run unless set.'),
        failures: option(count, 'After how many failures in a row it sends feedback; 2 unless set.'),
        sendsTo: option(id.nullable(), 'To whom; the nearest node above that has an agent unless set.'),
      }),
    ]),
    'Repeats its agent until that says that it is done.',
  ),
  condition: option(
    z.strictObject({
      pendingFor: option(id.nullable(), 'Whose pending feedback counts; null for any.'),
      pending: option(ids, 'The children that run if there is some.'),
      otherwise: option(ids, 'Those that run if there is none.'),
    }),
    'Chooses between its children by whether feedback is pending.',
  ),
});

const tree = z
  .strictObject({
    loop: z.literal('tree'),
    ...shared,
    nodes: z.array(node).min(1).describe('The root has no parent; every other node names the one above it.'),
    ...deciding,
    roles: roles.optional(),
    ...aliasShape('tree'),
    settings: option(z.strictObject(aliasShape('tree')), 'The same options, in a block of their own.'),
  })
  .describe(
    'Works through a tree, and takes what nodes find out back up. Agents that no node names may be named by planners.',
  );

const repeat = z
  .strictObject({
    loop: z.literal('repeat'),
    ...shared,
    agent: id,
    maxRepeats: option(z.number().min(0), 'How often the agent is called at most; 10 unless set.'),
    onLimit: deciding.onLimit,
    role: role.optional(),
  })
  .describe('Calls one agent again, with what it answered last, until it says that it is done.');

export const LOOP_FORMS = { tight, plan, stories, phases, tree, repeat } as const;
export type LoopName = keyof typeof LOOP_FORMS;
