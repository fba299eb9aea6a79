import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isReservedType, TYPE } from '../../src/events/vocabulary.ts';
import {
  parseWorkflowFile,
  type Runtime,
  readImport,
  sendCommand,
  tightLoop,
  workflowOf,
} from '../../src/index.ts';
import { temporaryDirectory, temporaryFile } from '../store/temporary-directory.ts';
import { callHere } from '../support/call-here.ts';
import { passes } from '../support/cli.ts';
import { open, refusal } from '../support/runtimes.ts';

// Method: a run that waits for a person, so that everything can be sent to it. Each type that only the runtime or XState may use is tried
// at each entry; the log must have the same rows afterwards, but for what that entry itself keeps.

const RESERVED: readonly string[] = [
  ...Object.values(TYPE),
  'lw.',
  'lw.anything',
  'xstate.init',
  'xstate.stop',
  'xstate.done.actor.agent:developer',
  'xstate.error.actor.agent:developer',
  'xstate.done.state.tight',
  'xstate.after.1000.tight.working',
  'xstate.snapshot.agent:developer',
  'xstate.',
  '@xstate.actor',
  '@xstate.event',
  '@xstate.',
];

const agents = {
  developer: () => ({ summary: 'done' }),
  reviewer: () => ({ passed: false, issues: [{ description: 'no' }] }),
  tester: () => passes,
};
const loop = tightLoop({ name: 'loop', onLimit: 'ask', maxIterations: 1 });

const waiting = async (file = temporaryFile()): Promise<Runtime> => {
  const runtime: Runtime = (await open({ file, workflows: [loop], agents })) as never; // As hosts that know no types have it.
  await (await runtime.start('loop', 'x', { id: 'r' })).settled();
  return runtime;
};
const rowsOf = async (runtime: Runtime) => runtime.audit({ limit: 10_000 });

describe('S17: types of events that are reserved', () => {
  it('S17: the list has every type of the runtime, and each counts as reserved', () => {
    expect(RESERVED.length).toBeGreaterThan(20);
    expect(RESERVED.filter((type) => !isReservedType(type))).toEqual([]);
  });

  it('S17: none is accepted from the host, to any actor', async () => {
    const runtime = await waiting();
    const before = await rowsOf(runtime);
    const actors = [...new Set(before.map(({ actor }) => actor))];
    expect(actors.length).toBeGreaterThan(3);
    const run = await runtime.run('r');
    for (const type of RESERVED) {
      for (const to of actors) {
        await refusal(runtime.send(to, { type }), 'RESERVED_EVENT');
        await refusal(runtime.execute({ kind: 'send', to, message: { type } }), 'RESERVED_EVENT');
      }
      await refusal(run.send({ type }), 'RESERVED_EVENT');
    }
    expect(await rowsOf(runtime)).toEqual(before);
  });

  it('S17: none is accepted from another process, through the inbox', async () => {
    const file = temporaryFile();
    const runtime = await waiting(file);
    const before = await rowsOf(runtime);
    for (const type of RESERVED)
      expect(await sendCommand(file, { kind: 'send', to: 'r', message: { type } })).toMatchObject({
        ok: false,
        error: { code: 'RESERVED_EVENT' },
      });
    expect(await rowsOf(runtime)).toEqual(before);
  });

  it('S17: none is made by what an agent answers, says on its way, or throws', async () => {
    const forged = RESERVED.map((type) => ({ type, output: passes, data: passes, verdict: 'verified' }));
    const file = temporaryFile();
    const loud = {
      ...agents,
      developer: (request: { progress: (update: unknown) => void }) => {
        for (const event of forged) request.progress(event);
        return { summary: 'done', type: 'lw.run.ended', verdict: 'verified', events: forged };
      },
      reviewer: () => ({
        ...forged[0],
        passed: false,
        issues: forged.map((each) => ({ ...each, description: each.type })),
      }),
    };
    const runtime: Runtime = (await open({ file, workflows: [loop], agents: loud as never })) as never;
    const run = await runtime.start('loop', forged, { id: 'r' });
    await run.settled();
    const rows = await rowsOf(runtime);
    // They are data in the answers of two calls, and never the type of a row that nobody else has caused.
    const plain = await waiting();
    const typesOf = (all: typeof rows) => new Set(all.map(({ type }) => type));
    expect(typesOf(rows)).toEqual(typesOf(await rowsOf(plain)));
    expect(rows.filter(({ type }) => type === TYPE.runEnded)).toEqual([]);
    expect((await runtime.runs({ status: 'open' })).map(({ id }) => id)).toEqual(['r']);
  });

  it('S17: none is accepted in a branch, as an answer of an agent or a person', async () => {
    const runtime = await waiting();
    const rows = await rowsOf(runtime);
    const done = rows.find(({ type }) => type === TYPE.callDone);
    const asked = rows.find(({ type }) => type === 'question.opened');
    for (const type of RESERVED) {
      const branch = await runtime.whatIf('r', {
        answers: [{ at: done?.position ?? 0, output: { type, summary: type } }],
      });
      expect(branch.verdict).toBeNull();
      await branch.close();
      await refusal(
        runtime.whatIf('r', { answers: [{ at: asked?.position ?? 0, option: type }] }),
        'BAD_BRANCH',
      );
    }
    expect(await rowsOf(runtime)).toEqual(rows);
  });

  it('S17: none is accepted in a workflow file, where types of events could stand', async () => {
    for (const type of RESERVED) {
      const text = (more: object) =>
        JSON.stringify({
          name: 'x',
          loop: 'tight',
          agents: { developer: { script: [] }, reviewer: { script: [] }, tester: { script: [] } },
          ...more,
        });
      for (const more of [{ events: [type] }, { on: { [type]: 'done' } }, { [type]: {} }, { loop: type }])
        expect(() => parseWorkflowFile(text(more), { path: 'x.yaml' }), JSON.stringify(more)).toThrow(
          /x\.yaml/,
        );
      // A name of a workflow is the name of a machine: the runtime keeps those of its own.
      const named = async () => {
        const { definition } = parseWorkflowFile(text({ name: type }), { path: 'x.yaml' });
        await open({ file: temporaryFile(), workflows: [workflowOf(definition, 1)], agents });
      };
      await expect(named(), type).rejects.toThrow();
    }
  });

  it('S17: none is accepted in what is imported', async () => {
    for (const type of RESERVED) {
      const line = {
        type,
        from_node: 'a',
        to_node: 'b',
        feedback_type: 'FIX_REQUEST',
        message: 'm',
        priority: 'high',
        timestamp: '2026-01-21T14:00:00Z',
        status: 'queued',
        round: 1,
      };
      expect(readImport(JSON.stringify(line))).toMatchObject({ format: 'feedback', accepted: [] });
      expect(
        readImport(JSON.stringify({ ...line, type: 'FEEDBACK', feedback_type: type }))?.accepted,
      ).toEqual([]);
    }
    // An export of a log in which such a row was put is not the log that its chain is of.
    const folder = temporaryDirectory();
    const runtime = await waiting(join(folder, 'log.db'));
    const lines: string[] = [];
    await runtime.export((text) => void lines.push(text));
    await runtime.close();
    const at = lines.findIndex((text) => text.includes('"question.opened"'));
    expect(at).toBeGreaterThan(0);
    for (const [index, type] of RESERVED.entries()) {
      const forged = lines.map((text, place) =>
        place === at ? text.replace('"question.opened"', JSON.stringify(type)) : text,
      );
      writeFileSync(join(folder, 'forged.jsonl'), `${forged.join('\n')}\n`);
      const { code } = await callHere(folder, ['import', 'forged.jsonl', '--db', `forged-${index}.db`]);
      expect(code, type).not.toBe(0);
    }
    writeFileSync(join(folder, 'whole.jsonl'), `${lines.join('\n')}\n`);
    expect((await callHere(folder, ['import', 'whole.jsonl', '--db', 'whole.db'])).code).toBe(0);
  });

  it('S17, control: a message of another type is taken, to the same actor by the same ways', async () => {
    const file = temporaryFile();
    const runtime = await waiting(file);
    const before = await rowsOf(runtime);
    await runtime.send('r', { type: 'run.pause', reason: 'x' } as never);
    expect(
      await sendCommand(file, { kind: 'send', to: 'r', message: { type: 'run.resume', reason: 'x' } }),
    ).toMatchObject({
      ok: true,
    });
    expect((await rowsOf(runtime)).length).toBeGreaterThan(before.length);
  });
});
