import { z } from 'zod';
import { feedbackOption, gateRule, id, ids, json, option, severity, text } from './form-parts.ts';
import { forms } from './form-registry.ts';

export const step = z.strictObject({
  id,
  agent: option(id, "Who does it; an agent of the step's own name unless set."),
  gate: option(
    z.strictObject({
      reviewers: ids.min(1).describe('The agents that judge.'),
      rule: option(gateRule, 'When it passes; `all` unless set.'),
      corrects: id.describe('The step that runs again with what the gate found.'),
    }),
    'A step that judges what another made.',
  ),
  needs: option(ids, 'Steps, or groups of steps, whose results it needs.'),
  group: option(id, 'Steps of a group run side by side; whoever needs the group needs all of them.'),
  with: option(json, 'What it is given besides the task and the results that it needs.'),
  reads: option(z.array(text), "Paths of the run's context that its agent is given."),
});

const checkShape = {
  id,
  severity: option(severity, '`high` unless set. Critical and blocking ones pause the run.'),
  description: option(text, 'What is told; a sentence with the paths unless set.'),
  requirement: text.optional(),
  options: option(z.array(feedbackOption), 'What those who are told may choose from.'),
  rule: option(
    z.union([z.enum(['unanimous', 'first']), z.strictObject({ decider: id })]),
    'Whose choice counts; `unanimous` unless set.',
  ),
  after: option(ids, 'Steps, or groups, after which it is made.'),
};

const byAgent = z.strictObject({ agent: id });

const CHECK_FORMS = {
  compare: z
    .strictObject({
      ...checkShape,
      compare: z.tuple([text, text]).describe('Paths of two agents: "agents.architect.outputs.design".'),
      by: option(z.union([z.enum(['equal', 'subset']), byAgent]), '`equal` unless set.'),
    })
    .register(forms, { id: 'consistency', description: 'Two results that must agree.' }),
  metric: z
    .strictObject({
      ...checkShape,
      metric: text.describe('The path of a number, or of a list, which is measured by its length.'),
      by: z.union([z.strictObject({ max: z.number() }), z.strictObject({ min: z.number() }), byAgent]),
      responsible: z
        .union([ids.min(1), z.record(id, json)])
        .describe('Who has to fix it: agents, or what each of them is asked to do.'),
      artifact: option(text, 'What has to be fixed.'),
    })
    .register(forms, { id: 'quality', description: 'A measure that must be good enough.' }),
} as const;

export const checks = z.array(z.union(Object.values(CHECK_FORMS)));

export const gap = z
  .strictObject({
    requirements: text,
    implementation: text,
  })
  .describe('Where requirements and implementation are, for feedback that something is missing.');
