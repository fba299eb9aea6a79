import { z } from 'zod';
import type { JsonObject } from '../events/json.ts';
import { forms } from './form-registry.ts';
import { LOOP_FORMS } from './loop-forms.ts';

const workflow = z
  .discriminatedUnion('loop', [
    LOOP_FORMS.tight,
    LOOP_FORMS.plan,
    LOOP_FORMS.stories,
    LOOP_FORMS.phases,
    LOOP_FORMS.tree,
    LOOP_FORMS.repeat,
  ])
  .register(forms, {
    title: 'A workflow of Loopwright',
    description:
      'A loop, its limits and its agents. Nothing in a workflow file is evaluated: there are no variables, tags, includes or patterns. Options that are functions in the TypeScript API have no form here.',
  });

/** The form of workflow files as JSON Schema: `schema/workflow.schema.json`. */
export const workflowSchema = (): JsonObject =>
  z.toJSONSchema(workflow, { io: 'input', metadata: forms }) as JsonObject; // A JSON Schema is JSON.
