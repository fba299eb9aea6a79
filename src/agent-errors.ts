/** What errors about agents carry besides their text. */
export interface AgentErrorFields {
  AGENT_MISSING: { agent: string; known: readonly string[] };
  AGENT_TIMED_OUT: { agent: string; limitMs: number };
  AGENT_QUARANTINED: { agent: string; failures: number; untilMs: number };
  AGENT_NOT_STARTED: { file: string; cwd: string; problem: string };
  AGENT_EXITED: { file: string; exitCode: number | null; signal: string | null; stderr: string };
  AGENT_FLOODED: { file: string; limitBytes: number };
  AGENT_ANSWER_BAD: { file: string; problem: string };
  AGENT_RESULTS_BAD: {
    file: string;
    from: string;
    problem: string;
    exitCode: number | null;
    stderr: string;
  };
  MODEL_PACKAGE_MISSING: { package: string; problem: string };
  MODEL_KEY_REFUSED: {
    model: string;
    provider: string;
    status: number | null;
    variable: string | null;
    problem: string;
  };
  MODEL_REQUEST_REFUSED: { model: string; status: number | null; problem: string };
  MODEL_RATE_LIMITED: { model: string; retryAfterMs: number | null; problem: string };
  MODEL_CALL_FAILED: { model: string; status: number | null; problem: string };
}

/** What is wrong with an agent, then what to do about it. */
export const AGENT_MESSAGES: {
  readonly [Code in keyof AgentErrorFields]: (
    fields: AgentErrorFields[Code],
  ) => readonly [what: string, advice: string];
} = {
  AGENT_MISSING: ({ agent, known }) => [
    `No agent "${agent}" is registered.`,
    `Pass it to createRuntime({ agents: { … } }). Registered: ${list(known)}.`,
  ],
  AGENT_TIMED_OUT: ({ agent, limitMs }) => [
    `The agent "${agent}" did not answer within ${limitMs} ms.`,
    'Raise its timeoutMs, or let it do less in one call.',
  ],
  AGENT_QUARANTINED: ({ agent, failures, untilMs }) => [
    `The agent "${agent}" failed ${failures} times in a row and is not called until ${new Date(untilMs).toISOString()}.`,
    'See to the cause of its failures.',
  ],
  AGENT_NOT_STARTED: ({ file, cwd, problem }) => [
    `The command "${file}" could not be started in "${cwd}" (${problem}).`,
    'Check that the directory is there, and that the program is there (in PATH, if its name has no "/") and may be executed.',
  ],
  AGENT_EXITED: ({ file, exitCode, signal, stderr }) => [
    `The command "${file}" ended ${exitCode === null ? `by ${signal}` : `with exit code ${exitCode}`}; ` +
      (stderr === '' ? 'it wrote nothing to standard error.' : `its standard error ended with: ${stderr}\n`),
    'See to the cause; if this exit code is an answer, name it in exitCodes.',
  ],
  AGENT_FLOODED: ({ file, limitBytes }) => [
    `The command "${file}" wrote more than ${limitBytes} bytes to standard output, and was ended.`,
    'Let it write less, or raise its outputBytes.',
  ],
  AGENT_ANSWER_BAD: ({ file, problem }) => [
    `The answer of the command "${file}" cannot be read: ${problem}.`,
    'Let it write its answer to standard output as its option "output" says, and all else to standard error.',
  ],
  AGENT_RESULTS_BAD: ({ file, from, problem, exitCode, stderr }) => [
    `The test report of the command "${file}" (${from}) cannot be used: ${problem}. It ended with exit code ${exitCode}` +
      (stderr === '' ? '.' : `; its standard error ended with: ${stderr}\n`),
    'Let it write its whole report, and nothing else, in the form that its option "results" names, and where "resultsFile" says.',
  ],
  MODEL_PACKAGE_MISSING: ({ package: name, problem }) => [
    `The package "${name}" cannot be loaded (${problem}).`,
    'Agents that are models need it: npm install ai @ai-sdk/openai-compatible (or the package of another provider).',
  ],
  MODEL_KEY_REFUSED: ({ model, provider, status, variable, problem }) => [
    `"${provider}" gives no access to the model "${model}"${status === null ? '' : ` (${status})`}: ${problem}.`,
    variable === null
      ? 'Check the key that its provider is set up with, and the variable that it is read from. It is not tried again.'
      : `Check the variable ${variable}: it must hold a valid key. It is not tried again.`,
  ],
  MODEL_REQUEST_REFUSED: ({ model, status, problem }) => [
    `The request to the model "${model}" was refused${status === null ? '' : ` (${status})`}: ${problem}.`,
    'Check the name of the model, its base URL and its options. It is not tried again.',
  ],
  MODEL_RATE_LIMITED: ({ model, retryAfterMs, problem }) => [
    `The model "${model}" takes no more calls for now (429): ${problem}.`,
    retryAfterMs === null
      ? 'It is tried again after a while; lower its concurrency if this happens often.'
      : `It is tried again after ${retryAfterMs} ms, as its provider asks; lower its concurrency if this happens often.`,
  ],
  MODEL_CALL_FAILED: ({ model, status, problem }) => [
    `The call of the model "${model}" failed${status === null ? '' : ` (${status})`}: ${problem}.`,
    'It is tried again, as its role allows.',
  ],
};

const list = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.join(', '));
