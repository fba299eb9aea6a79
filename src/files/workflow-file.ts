import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type FileProblem, RuntimeError } from '../errors.ts';
import type { Json, JsonObject } from '../events/json.ts';
import type { SecretOptions } from '../events/redact.ts';
import { type Checked, checkDocument } from './check-document.ts';
import type { AgentDescription } from './file-agents.ts';
import { readFileText } from './file-text.ts';
import type { LoopName } from './loop-forms.ts';

/** A workflow that was read from a file. All of it is data: nothing of the file was evaluated. */
export interface WorkflowFile {
  readonly path: string;
  readonly name: string;
  readonly loop: LoopName;
  /** The behaviour, without agents: what two versions of a workflow differ by. Canonical: equal ones have equal texts. */
  readonly definition: JsonObject;
  readonly agents: Readonly<Record<string, AgentDescription>>;
  /** What a run is started with, if it is started with nothing else. */
  readonly input: Json | undefined;
  readonly secrets: SecretOptions | undefined;
}

const BYTES_MAX = 1024 * 1024;
const PROBLEMS_MAX = 50;

/**
 * Reads a workflow file: YAML or JSON.
 *
 * @throws {RuntimeError} BAD_WORKFLOW_FILE with every problem, each with its line and column
 */
export const readWorkflowFile = async (path: string): Promise<WorkflowFile> =>
  parseWorkflowFile(await textOf(path), { path });

/**
 * The workflow that a text describes, as if it stood in a file at this path.
 *
 * @throws {RuntimeError} BAD_WORKFLOW_FILE with every problem, each with its line and column
 */
export const parseWorkflowFile = (text: string, { path }: { readonly path: string }): WorkflowFile => {
  if (Buffer.byteLength(text) > BYTES_MAX) throw refusal(path, tooLarge);
  const file = readFileText(text);
  if (file.problems.length > 0) throw badFile(path, file.problems);
  const checked: Checked = checkDocument(file, path);
  if ('problems' in checked) throw badFile(path, checked.problems);
  return { path, ...checked };
};

const tooLarge = `it is larger than ${BYTES_MAX} bytes`;

const badFile = (file: string, problems: readonly FileProblem[]): RuntimeError => {
  const next = problems[PROBLEMS_MAX];
  const rest = next && [
    { ...next, path: '', problem: `and ${problems.length - PROBLEMS_MAX} more`, allowed: null },
  ];
  return new RuntimeError('BAD_WORKFLOW_FILE', {
    file,
    problems: [...problems.slice(0, PROBLEMS_MAX), ...(rest ?? [])],
  });
};

const refusal = (file: string, problem: string): RuntimeError =>
  badFile(file, [{ line: null, column: null, path: '', problem, allowed: null }]);

const textOf = async (path: string): Promise<string> => {
  const bytes = await bytesOf(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const line = bytes.subarray(0, firstBadByte(bytes)).filter((byte) => byte === NEW_LINE).length + 1;
    throw badFile(path, [
      { line, column: 1, path: '', problem: 'this line is not UTF-8', allowed: 'a text in UTF-8' },
    ]);
  }
};

const NEW_LINE = 10;

/** Where the bytes differ from those of the text that they can be read as. */
const firstBadByte = (bytes: Buffer): number => {
  const readable = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  const index = bytes.findIndex((byte, at) => byte !== readable[at]);
  return index < 0 ? bytes.length : index;
};

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'it may not be read',
};

const bytesOf = async (path: string): Promise<Buffer> => {
  try {
    // A pipe would be waited for without end.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile())
        throw refusal(path, stat.isDirectory() ? 'it is a directory' : 'it is no plain file');
      if (stat.size > BYTES_MAX) throw refusal(path, tooLarge);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException; // What Node's file functions throw.
    throw refusal(path, REASONS[code] ?? message);
  }
};
