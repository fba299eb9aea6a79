import { blobRefsIn, DEFINITION, type EventLog, type Json, resolveBlobs, type Workflow } from '../index.ts';

/** What a log keeps of a workflow that was described in a file. */
export interface StoredDefinition {
  readonly name: string;
  readonly loop: string;
  readonly path: string;
  readonly directory: string;
  readonly definition: Json;
  readonly agents: Json;
}

/** All descriptions in a log, oldest first. */
export const readDefinitions = async (log: EventLog): Promise<readonly StoredDefinition[]> => {
  const runs = await log.runs({ workflow: DEFINITION });
  return Promise.all(
    runs.map(async ({ id }) => {
      const [started] = await log.events({ run: id, limit: 1 });
      const input = started?.data['input'] ?? null;
      return resolveBlobs(input, await log.blobs(blobRefsIn(input))) as unknown as StoredDefinition; // `keepDefinition` wrote it.
    }),
  );
};

/** What a runtime is given to know them. */
export const registeredWith = (
  _definitions: readonly StoredDefinition[],
): { readonly workflows: readonly Workflow[]; readonly agents: Readonly<Record<string, never>> } => ({
  workflows: [],
  agents: {},
});
