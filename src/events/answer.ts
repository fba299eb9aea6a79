import type { GivenFeedback } from './feedback.ts';
import type { Json, JsonObject } from './json.ts';
import type { FeedbackItem } from './tree-feedback.ts';
import type { Usage } from './usage.ts';

/** What an agent may say beside its output. */
export interface AnswerDetails {
  /** Faults that it found. */
  readonly issues?: readonly JsonObject[];
  readonly usage?: Usage;
  /** What it made, by name. */
  readonly artifacts?: Readonly<Record<string, Json>>;
  /**
   * What it found out that others must deal with: agents before it or beside it in a plan, nodes above it in a tree. In a plan, with
   * `null` as the output, its step is not done: it runs again when all of this is resolved.
   */
  readonly feedback?: readonly (GivenFeedback | FeedbackItem)[] | Json;
}

/** An output and what goes with it. Told from a mere output by what it is, not by how it looks. */
export class Answer<Output = unknown> {
  readonly output: Output;
  readonly issues: readonly JsonObject[] | undefined;
  readonly usage: Usage | undefined;
  readonly artifacts: Readonly<Record<string, Json>> | undefined;
  readonly feedback: AnswerDetails['feedback'] | undefined;
  readonly #isAnswer = true;

  constructor(output: Output, { issues, usage, artifacts, feedback }: AnswerDetails) {
    this.output = output;
    this.issues = issues;
    this.usage = usage;
    this.artifacts = artifacts;
    this.feedback = feedback;
  }

  /** As a plain object, fit for the log: what was not given is not there at all. */
  plain(): { readonly output: Output } & AnswerDetails {
    const { output, issues, usage, artifacts, feedback } = this;
    return {
      output,
      ...(issues && { issues }),
      ...(usage && { usage }),
      ...(artifacts && { artifacts }),
      ...(feedback !== undefined && { feedback }),
    };
  }

  static is(value: unknown): value is Answer {
    return typeof value === 'object' && value !== null && #isAnswer in value && value.#isAnswer;
  }
}

/** What an agent returns if it has more to say than its output. */
export const answer = <Output>(output: Output, details: AnswerDetails = {}): Answer<Output> =>
  new Answer(output, details);

export const isAnswer = (value: unknown): value is Answer => Answer.is(value);
