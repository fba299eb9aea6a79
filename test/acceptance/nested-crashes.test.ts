import { crashAtEveryStep } from 'loopwright/testing';
import { describe, expect, it } from 'vitest';
import type { AgentRequest, Runtime } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { contented, KINDS, outer } from '../support/nested-loops.ts';
import { expectReplays, open, rounds } from '../support/runtimes.ts';

const each = KINDS.map((kind) => [kind.name, kind] as const);

describe('a loop as a step, and processes that end', () => {
  it.each(each)('G1, T10: %s goes on in another process where it was', async (_, kind) => {
    const inner = kind.declare();
    const workflows = [inner, outer(inner)];
    const file = temporaryFile();
    const called: string[] = [];
    const good = contented(kind);
    const last = kind.roles.at(-1) ?? kind.first;
    const agents = (isFirst: boolean) =>
      Object.fromEntries(
        Object.entries(good).map(([role, agent]) => [
          role,
          (request: AgentRequest<never>) => {
            called.push(role);
            return isFirst && role === last ? new Promise(() => undefined) : agent(request);
          },
        ]),
      );
    const first = await open({ file, workflows, agents: agents(true) });
    await first.start('outer', 'a letter', { id: 'r' });
    await expect.poll(() => called).toContain(last);
    await first.close();

    const second = await open({ file, workflows, agents: agents(false) });
    expect(await (await second.run('r')).result()).toMatchObject({ verdict: 'verified' });
    // Nobody is called again but the one who was at work.
    expect(called).toEqual(['planner', ...kind.roles, last, 'editor']);
    await second.close();
    await expectReplays(file, workflows);
  });

  it.each(each)('G1, G13: %s comes to the same after a crash at whatever commit', async (_, kind) => {
    const inner = kind.declare();
    const { result, crashes } = await crashAtEveryStep({
      workflows: [inner, outer(inner)],
      // Whoever works again after a crash says the same.
      agents: () =>
        Object.fromEntries(
          Object.entries(contented(kind)).map(([role, agent]) => [
            role,
            kind.roles.includes(role) ? () => kind.good(role, 1) : agent,
          ]),
        ),
      play: async (runtime: Runtime) => {
        const isThere = (await runtime.runs()).length > 0;
        const run = isThere ? await runtime.run('r') : await runtime.start('outer', 'a letter', { id: 'r' });
        const { verdict, output } = await run.result();
        return { verdict, output };
      },
      every: rounds(4, 1),
    });
    expect(result).toMatchObject({
      verdict: 'verified',
      output: { spent: { calls: 2 + kind.roles.length } },
    });
    expect(crashes).toBeGreaterThan(1);
  });
});
