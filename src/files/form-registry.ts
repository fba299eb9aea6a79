import { z } from 'zod';

interface FormMeta {
  readonly id?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

/** Zod's own registry is one for the whole process: names that are put there would be in the schemas of others. */
class FormRegistry extends z.core.$ZodRegistry<FormMeta> {
  override get<Form extends z.core.$ZodType>(form: Form): FormMeta | undefined {
    return { ...super.get(form), ...z.globalRegistry.get(form) };
  }
}

/** What forms are called in the schema of workflow files. */
export const forms = new FormRegistry();
