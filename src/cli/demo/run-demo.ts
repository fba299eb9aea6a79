import { dirname, resolve } from 'node:path';
import {
  parseWorkflowFile,
  type RecordedEvent,
  type Runtime,
  runSummary,
  type Verdict,
} from '../../index.ts';
import { descriptionOf } from '../definitions.ts';
import { openRuntime } from '../open.ts';
import { DEMO_FILES, type DemoFile } from './demo-files.ts';
import { iterationsIn, storyOf } from './demo-story.ts';

export interface DemoOptions {
  /** The log that it leaves; one that is there is added to. */
  readonly file: string;
  /** Takes whole lines, each with its line feed. */
  readonly write: (text: string) => void;
  /** One JSON object for each loop in place of the story. */
  readonly json?: boolean;
}

/** What became of one loop. */
export interface DemoLoop {
  readonly loop: DemoFile['loop'];
  /** Null if its run has not ended. */
  readonly verdict: Verdict | null;
  /** How often the work that is corrected was done. */
  readonly iterations: number;
  readonly agentCalls: number;
}

/**
 * Runs every loop of the package on agents whose answers are known before. What it tells is read back from the log, which keeps the
 * workflows too: every command works on it afterwards.
 */
export const runDemo = async ({ file, write, json = false }: DemoOptions): Promise<readonly DemoLoop[]> => {
  const done: DemoLoop[] = [];
  const say = (...lines: readonly string[]) => {
    for (const line of json ? [] : lines) write(`${line}\n`);
  };
  say(
    'Five loops, on agents whose answers are known before. All that is told here is read back from the log.',
  );
  for (const demo of DEMO_FILES) {
    const { run, events, ...told } = await runLoop(file, demo);
    done.push(told);
    if (json) write(`${JSON.stringify(told)}\n`);
    const { verdict, iterations, agentCalls } = told;
    say(
      '',
      `${done.length}. ${demo.title}`,
      `   ${demo.about}`,
      '',
      ...storyOf(events).map((line) => `   ${line}`),
      `   => ${verdict ?? 'open'}: run "${run}", ${iterations} iterations, ${agentCalls} calls of agents, ${events.length} events`,
    );
  }
  say(
    '',
    `The log is ${file}. Look at it with the commands show, why, replay and verify, each with --db ${file}.`,
  );
  return done;
};

interface Ran extends DemoLoop {
  readonly run: string;
  readonly events: readonly RecordedEvent[];
}

const EVENTS_MAX = 10_000;

const runLoop = async (file: string, { loop, text }: DemoFile): Promise<Ran> => {
  // It is as if the file stood beside the log.
  const path = resolve(dirname(file), `demo-${loop}.yaml`);
  const workflow = parseWorkflowFile(text, { path });
  const mine = new Set<string>();
  const runtime = await openRuntime(file, {
    mode: 'work',
    described: descriptionOf(workflow, dirname(path)),
    takesUp: (id) => mine.has(id),
  });
  try {
    const id = await freeId(runtime, workflow.name);
    mine.add(id);
    const run = await runtime.start(workflow.name, workflow.input, { id, by: 'demo' });
    await run.settled();
    const events = await runtime.audit({ run: id, limit: EVENTS_MAX });
    const { verdict, calls } = await runtime.read(runSummary, id);
    return {
      loop,
      verdict,
      iterations: iterationsIn(events),
      agentCalls: calls.done + calls.failed,
      run: id,
      events,
    };
  } finally {
    await runtime.close();
  }
};

const freeId = async (runtime: Runtime, workflow: string): Promise<string> => {
  const known = new Set((await runtime.runs()).map(({ id }) => id));
  let id = workflow;
  for (let number = 2; known.has(id); number += 1) id = `${workflow}-${number}`;
  return id;
};
