import { agentCall, createRuntime, sendCommand, workflow } from 'loopwright';
import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { temporaryFile } from '../store/temporary-directory.ts';

/** Calls an agent "worker", and gives what it says. */
const calling = setup({
  actors: { worker: agentCall<null, string>() },
  types: { output: {} as { said: string }, context: {} as { said: string } },
}).createMachine({
  context: { said: '' },
  initial: 'working',
  states: {
    working: {
      invoke: {
        src: 'worker',
        input: null,
        onDone: { target: 'done', actions: assign({ said: ({ event }) => event.output }) },
        onError: 'failed',
      },
    },
    done: { type: 'final' },
    failed: { type: 'final' },
  },
  output: ({ context }) => context,
});

const never = () => new Promise<string>(() => undefined);

describe('several workflows and processes on one log', () => {
  it('agentsByWorkflow goes before agents, for new runs and for those that are taken up', async () => {
    const file = temporaryFile();
    const workflows = [workflow('one', calling), workflow('two', calling), workflow('three', calling)];
    const idle = await createRuntime({ file, workflows, agents: { worker: never }, idle: true });
    for (const name of ['one', 'two', 'three'] as const) await idle.start(name, null, { id: `${name}-open` });
    await idle.close();
    const heard: string[] = [];
    const hears =
      (who: string) =>
      async ({ run }: { readonly run: string }) => {
        heard.push(`${who} ${run}`);
        return who;
      };
    const runtime = await createRuntime({
      file,
      workflows,
      agents: { worker: hears('shared') },
      agentsByWorkflow: {
        one: { worker: hears('first') },
        two: { worker: hears('second') },
      },
    });
    for (const name of ['one', 'two', 'three'] as const)
      await (await runtime.start(name, null, { id: `${name}-new` })).result();
    for (const name of ['one', 'two', 'three']) await (await runtime.run(`${name}-open`)).result();
    await runtime.close();
    expect(heard.toSorted()).toEqual(
      [
        'first one-new',
        'first one-open',
        'second two-new',
        'second two-open',
        'shared three-new',
        'shared three-open',
      ].toSorted(),
    );
  });

  it('readOnly looks at a log that somebody else writes, writes nothing, and leaves the inbox to its owner', async () => {
    const file = temporaryFile();
    const workflows = [workflow('one', calling)];
    const owner = await createRuntime({ file, workflows, agents: { worker: never } });
    await owner.start('one', null, { id: 'a' });
    const reader = await createRuntime({ file, workflows, agents: { worker: never }, readOnly: true });
    expect(await reader.runs()).toMatchObject([{ id: 'a', verdict: null }]);
    expect((await reader.actor('a')).value).toBe('working');
    expect((await reader.why('a')).standing).toBe('working');
    await expect(reader.start('one', null)).rejects.toMatchObject({ code: 'LOG_WRITE_FAILED' });
    expect(await sendCommand(file, { kind: 'cancel', run: 'a' })).toMatchObject({ ok: true });
    expect((await reader.runs())[0]?.verdict).toBe('cancelled');
    await reader.close();
    const [, ...others] = await owner.runs();
    expect(others).toEqual([]);
    await owner.close();
    // Without an owner a reader still carries nothing out.
    const sent = sendCommand(
      file,
      { kind: 'start', workflow: 'one', run: 'b', input: null },
      { timeoutMs: 300 },
    );
    const second = await createRuntime({ file, workflows, agents: { worker: never }, readOnly: true });
    await expect(sent).rejects.toMatchObject({ code: 'COMMAND_TIMED_OUT' });
    expect(await second.runs()).toHaveLength(1);
    await second.close();
  });

  it('readOnly refuses a log that is not there', async () => {
    const opening = createRuntime({
      file: temporaryFile(),
      workflows: [workflow('one', calling)],
      agents: { worker: never },
      readOnly: true,
    });
    await expect(opening).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' });
  });

  it('takesUp leaves other runs as they are, until a runtime takes them up', async () => {
    const file = temporaryFile();
    const workflows = [workflow('one', calling)];
    const idle = await createRuntime({ file, workflows, agents: { worker: never }, idle: true });
    for (const id of ['a', 'b']) await idle.start('one', null, { id });
    await idle.close();
    const heard: string[] = [];
    const agents = {
      worker: async ({ run }: { readonly run: string }) => {
        heard.push(run);
        return run;
      },
    };
    const first = await createRuntime({
      file,
      workflows,
      agents,
      takesUp: (run) => run === 'a' || run === 'c',
    });
    await (await first.run('a')).result();
    await (await first.start('one', null, { id: 'c' })).result();
    await first.start('one', null, { id: 'd' });
    expect(heard).toEqual(['a', 'c']);
    await first.close();
    const second = await createRuntime({ file, workflows, agents });
    for (const id of ['b', 'd']) await (await second.run(id)).result();
    await second.close();
    expect(heard).toEqual(['a', 'c', 'b', 'd']);
  });
});
