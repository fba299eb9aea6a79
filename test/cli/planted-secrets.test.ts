import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callHere } from '../support/call-here.ts';
import { type CliFolder, type CommandRan, cliFolder, jsonLines, passes } from '../support/cli.ts';
import { refuses, says, startModelServer } from '../support/model-server.ts';
import { createPlanter, filesIn, leaksIn } from '../support/planted.ts';

// Method: secrets are planted into everything that the command line reads, hears from agents or is told by persons. Then every file that it
// has written, and all that it has printed, is searched for them, and for halves of them.

const plant = createPlanter();
/** No secret by any rule: what is looked for as a control. */
const CONTROL = 'an-undeclared-word-of-no-shape';
const FOUND_IN_ENV = plant.value('the environment of a command').slice('plain '.length);
const MODEL_KEY = 'k-a-key-that-has-no-shape-0123456789';

let cli: CliFolder;
const printed = new Map<string, string>();

const noted = (args: readonly string[], ran: CommandRan): CommandRan => {
  printed.set(`${printed.size}: ${args.slice(0, 3).join(' ').slice(0, 60)}`, `${ran.stdout}\n${ran.stderr}`);
  return ran;
};
const VARIABLES = { SERVICE_TOKEN: FOUND_IN_ENV, MODEL_KEY };
/** In a process of its own, so that what its agents inherit is seen too. */
const apart = async (...args: readonly string[]): Promise<CommandRan> =>
  noted(args, await cli.runWith(VARIABLES, ...args));
const call = async (...args: readonly string[]): Promise<CommandRan> =>
  noted(args, await callHere(cli.folder, args));

const text = (name: string, content: unknown): void =>
  void cli.file(name, typeof content === 'string' ? content : JSON.stringify(content));

const secrets = { values: plant.values, names: [plant.name] };
const says1 = (name: string) => ({ command: ['cat', name] });
const loop = (name: string, agents: object, rest: object = {}) =>
  cli.file(`${name}.yaml`, {
    name,
    loop: 'tight',
    onLimit: 'ask',
    maxIterations: 1,
    secrets,
    ...rest,
    agents: {
      developer: says1('done.json'),
      reviewer: says1('passes.json'),
      tester: says1('passes.json'),
      ...agents,
    },
  });

beforeAll(() => {
  cli = cliFolder();
  for (const [name, value] of Object.entries(VARIABLES)) vi.stubEnv(name, value);
  text('done.json', { summary: 'done' });
  text('passes.json', passes);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await cli.remove();
});

describe('S12: secrets that come in', () => {
  it('S12: as the input of a run, and in the answers of agents', async () => {
    text('dev.json', {
      loopwright: 1,
      output: { summary: plant.text('output', 4), more: plant.object('output') },
      issues: [
        { severity: 'low', category: 'x', description: plant.text('issue'), more: plant.object('issue') },
      ],
      artifacts: { diff: plant.text('artifact', 4), more: plant.object('artifact') },
      usage: { inputTokens: 1, outputTokens: 1, costUsd: 0.1 },
    });
    text('rev.json', {
      passed: false,
      issues: [
        {
          severity: 'high',
          category: CONTROL,
          description: plant.text('finding', 4),
          file: plant.text('file of a finding'),
        },
        plant.text('finding that is a text', 2),
        plant.object('finding'),
      ],
      feedback: plant.text('words of a reviewer'),
    });
    loop('answers', { developer: says1('dev.json'), reviewer: says1('rev.json') });
    expect(
      (
        await call(
          'run',
          'answers.yaml',
          plant.text('argument', 6),
          '--no-ask',
          '--by',
          plant.text('--by of run'),
        )
      ).code,
    ).toBe(3);
    const json = JSON.stringify({
      task: 'x',
      more: plant.object('--input'),
      list: [plant.text('--input', 4)],
    });
    expect((await call('run', 'answers.yaml', '--input', json, '--no-ask', '--json')).code).toBe(3);
    text('input.json', { task: plant.text('@file', 4), more: plant.object('@file') });
    expect((await call('run', 'answers.yaml', '--input', '@input.json', '--no-ask')).code).toBe(3);
  });

  it('S12: in the input of a workflow file, in what is refused of a file, and in wrong use', async () => {
    loop(
      'given',
      {},
      { input: { task: plant.text('input of the file', 4), more: plant.object('input of the file') } },
    );
    expect((await call('run', 'given.yaml', '--no-ask')).code).toBe(0);
    cli.file('bad.yaml', {
      name: 'bad',
      loop: plant.text('loop of a file', 1),
      [plant.text('key of a file', 1)]: plant.text('value of a file', 1),
      agents: { developer: { script: [], model: plant.text('model of a file', 1) } },
    });
    expect((await call('run', 'bad.yaml', 'x')).code).toBe(2);
    expect((await call('run', 'bad.yaml', 'x', '--json')).code).toBe(2);
    loop('told', {
      developer: {
        command: ['echo', plant.text('command of a file')],
        env: { KEY: plant.text('env of a file') },
      },
    });
    expect((await call('run', 'told.yaml', 'x')).code).toBe(2);
    for (const args of [
      ['run', 'given.yaml', '--input', plant.text('--input that is no JSON', 1)],
      ['run', 'given.yaml', '--input', `@${plant.text('--input that is no file', 1)}`],
      ['show', plant.text('id of a run', 1)],
      ['why', plant.text('id of what', 1)],
      [plant.text('command', 1)],
      ['ps', `--${plant.text('option', 1)}`],
      ['import', plant.text('file to import', 1)],
      ['answer', 'last', plant.text('option of an answer', 1)],
      ['fork', 'last', '--set', plant.text('--set that is wrong', 1)],
    ])
      for (const json of [[], ['--json']]) expect((await call(...args, ...json)).code).not.toBe(0);
  });

  it('S12: on the way of commands: progress, standard error, what cannot be read, the environment', async () => {
    text(
      'lines.jsonl',
      [plant.object('progress'), plant.text('progress', 4), { summary: 'done' }]
        .map((line) => JSON.stringify(line))
        .join('\n'),
    );
    text('error.txt', plant.text('standard error', 8));
    text('long.txt', `${'x'.repeat(1_990)} ${plant.text('end of a long error', 6)}`);
    text('no.json', plant.text('no JSON', 2));
    text('odd.json', { loopwright: 1, output: null, [plant.text('member of an answer', 1)]: 1 });
    text('key.json', { summary: 'x', [plant.text('key of an answer', 1)]: 1 });
    const failing = (name: string, command: readonly string[], more: object = {}) =>
      loop(name, { developer: { command, attempts: 1, ...more } });
    failing('lines', ['cat', 'lines.jsonl'], { output: 'json-lines' });
    failing('stderr', ['sh', '-c', 'cat error.txt >&2; exit 3']);
    failing('long', ['sh', '-c', 'cat long.txt >&2; exit 3']);
    failing('nojson', ['cat', 'no.json']);
    failing('odd', ['cat', 'odd.json']);
    failing('key', ['cat', 'key.json']);
    failing('env', ['sh', '-c', 'printf \'{"summary":"%s"}\' "$SERVICE_TOKEN"'], {
      passEnv: ['SERVICE_TOKEN'],
    });
    for (const name of ['lines', 'stderr', 'long', 'nojson', 'odd', 'key', 'env'])
      for (const json of name === 'lines' || name === 'stderr' ? [[], ['--json']] : [[]])
        expect([0, 1, 3, 4]).toContain(
          (await (json.length > 0 ? apart : call)('run', `${name}.yaml`, 'x', '--no-ask', ...json)).code,
        );
  });

  it('S12: in reports on tests', async () => {
    const junit = `<testsuites><testsuite name="s"><testcase name="${plant.value('name in JUnit')}"><failure message="${plant.text('message in JUnit', 2)}">${plant.text('text in JUnit', 4)}</failure></testcase></testsuite></testsuites>`;
    const report = (where: string) =>
      JSON.stringify({
        numTotalTests: 1,
        numPassedTests: 0,
        numFailedTests: 1,
        success: false,
        testResults: [
          {
            name: `/x/${plant.value(where)}`,
            status: 'failed',
            message: plant.text(where),
            assertionResults: [
              {
                status: 'failed',
                fullName: plant.text(where),
                title: plant.text(where),
                ancestorTitles: [],
                failureMessages: [plant.text(where, 4)],
              },
            ],
          },
        ],
      });
    const files = { junit, vitest: report('vitest'), jest: report('jest') };
    for (const [results, content] of Object.entries(files)) {
      text(`${results}.txt`, content);
      loop(results, { tester: { command: ['cat', `${results}.txt`], results, attempts: 1 } });
      expect((await call('run', `${results}.yaml`, 'x', '--no-ask')).code).toBe(3);
    }
    text('report.txt', `no report ${plant.text('report that is none')}`);
    loop('none', { tester: { command: ['cat', 'report.txt'], results: 'junit', attempts: 1 } });
    await call('run', 'none.yaml', 'x', '--no-ask');
  });

  it('S12: from models and their providers', async () => {
    const { baseUrl } = await startModelServer(
      says(
        JSON.stringify({
          passed: false,
          issues: [{ severity: 'high', category: 'x', description: plant.text('model', 4) }],
        }),
      ),
      refuses(400, `no: ${plant.text('refusal of a provider', 4)}`),
      refuses(401, `the key ${MODEL_KEY} is wrong`),
      says(`{"passed": true, "issues": [], "said": "${MODEL_KEY}"}`),
      says(plant.text('model that talks', 2)),
    );
    loop('model', {
      reviewer: { model: 'm', baseUrl, output: 'review', apiKeyEnv: 'MODEL_KEY', stream: false, attempts: 1 },
    });
    for (let times = 0; times < 5; times += 1)
      expect([0, 1, 3, 4]).toContain((await call('run', 'model.yaml', 'x', '--no-ask')).code);
    expect(leaksIn(printed, [{ where: 'the key', needles: [MODEL_KEY] }])).toEqual([]);
    expect(
      leaksIn(filesIn(join(cli.folder, '.loopwright')), [{ where: 'the key', needles: [MODEL_KEY] }]),
    ).toEqual([]);
  });

  it('S12: from persons: answers, notes, names and reasons', async () => {
    cli.file('person.yaml', {
      name: 'person',
      loop: 'plan',
      secrets,
      input: 'x',
      steps: [{ id: 'decide', agent: 'boss' }],
      agents: { boss: { person: { text: 'How?' } } },
    });
    for (const json of [[], ['--json']]) {
      expect((await call('run', 'person.yaml', '--no-ask')).code).toBe(3);
      expect(
        (
          await call(
            'pause',
            'last',
            '--reason',
            plant.text('reason of a pause'),
            '--by',
            plant.text('--by of pause', 1),
            ...json,
          )
        ).code,
      ).toBe(0);
      const value = JSON.stringify({ said: plant.object('--value') });
      expect(
        (
          await call(
            'answer',
            'last',
            '--value',
            value,
            '--note',
            plant.text('--note'),
            '--by',
            plant.text('--by'),
            ...json,
          )
        ).code,
      ).toBe(0);
      expect((await call('answer', 'last', '--value', plant.text('--value too late'), ...json)).code).toBe(2);
      expect((await call('run', 'answers.yaml', 'x', '--no-ask')).code).toBe(3);
      expect(
        (
          await call(
            'cancel',
            'last',
            '--reason',
            plant.text('reason to cancel'),
            '--by',
            plant.text('--by of cancel', 1),
            ...json,
          )
        ).code,
      ).toBe(0);
    }
    expect((await call('answer', 'answers-1', 'accept', '--note', plant.text('--note of accept'))).code).toBe(
      0,
    );
  });

  it('S12: in story files, and in all that is imported', async () => {
    const feedback = (message: string, more: object = {}) =>
      JSON.stringify({
        type: 'FEEDBACK',
        from_node: 'test',
        to_node: 'model',
        feedback_type: 'FIX_REQUEST',
        message,
        suggested_fix: 'x',
        priority: 'high',
        timestamp: '2026-01-21T14:00:00Z',
        status: 'queued',
        round: 1,
        ...more,
      });
    cli.file('tree.yaml', {
      name: 'tree',
      loop: 'tree',
      secrets,
      nodes: [{ id: 'plan' }, { id: 'model', parent: 'plan' }, { id: 'test', parent: 'model' }],
      agents: Object.fromEntries(['plan', 'model', 'test'].map((id) => [id, says1('passes.json')])),
    });
    text(
      'feedback.jsonl',
      [
        feedback(plant.text('imported feedback', 4)),
        feedback(plant.text('refused feedback'), { to_node: plant.text('node of feedback', 1) }),
        plant.text('line that is none', 2),
      ].join('\n'),
    );
    text('progress.json', {
      feedback_loop: {
        current_iteration: 2,
        max_iterations: 5,
        status: 'in_progress',
        iterations: [
          {
            number: 1,
            review_result: 'FAIL',
            review_issues: [plant.text('imported progress', 4)],
            test_result: 'FAIL',
            test_failures: [plant.text('imported progress', 2)],
          },
          { number: plant.text('refused progress', 2) },
        ],
      },
    });
    text('settings.json', {
      max_feedback_iterations: 4,
      other: plant.text('settings', 1),
      [plant.text('name of a setting', 1)]: plant.text('settings', 1),
    });
    mkdirSync(join(cli.folder, 'stories'));
    text(
      'stories/a.md',
      `---\nid: a\ntitle: ${plant.value('title of a story')}\nother: "${plant.text('frontmatter', 1)}"\nreview_feedback: ${plant.value('frontmatter')}\n---\n# A\n${plant.text('body of a story', 4)}\n`,
    );
    text('stories/b.md', `no frontmatter ${plant.text('refused story')}`);
    const script = says1('done.json');
    cli.file('board.yaml', {
      name: 'board',
      loop: 'stories',
      mode: 'auto',
      secrets,
      agents: {
        research: script,
        plan: script,
        implement: script,
        'create-pr': script,
        review: says1('rev.json'),
      },
    });
    for (const json of [[], ['--json']]) {
      for (const check of [['--check'], []]) {
        await call(
          'import',
          'feedback.jsonl',
          '--workflow',
          'tree.yaml',
          '--task',
          plant.text('--task'),
          ...check,
          ...json,
        );
        await call('import', 'progress.json', '--workflow', 'given.yaml', '--task', 'x', ...check, ...json);
        await call('import', 'stories', '--workflow', 'board.yaml', ...check, ...json);
      }
      await call('import', 'settings.json', '--loop', 'tight', ...json);
    }
    const runs = JSON.parse((await call('ps', '--all', '--json')).stdout) as readonly { id: string }[];
    const imported = runs.filter(({ id }) => id.startsWith('import-'));
    expect(imported.length).toBeGreaterThanOrEqual(3);
    for (const { id } of imported) await call('resume', id, '--no-ask');
  });

  it('S12: in branches', async () => {
    const events = jsonLines((await call('replay', 'answers-1', '--json')).stdout);
    const at = (type: string) => String(events.find((event) => event['type'] === type)?.['position']);
    mkdirSync(join(cli.folder, 'out'));
    const output = JSON.stringify({
      output: { summary: plant.text('--set output') },
      more: plant.object('--set output'),
    });
    for (const [index, sets] of [
      [at('lw.call.done'), `output=${output}`],
      [at('lw.call.done'), `failure=${plant.text('--set failure')}`],
      [
        at('question.answer'),
        'option=continue',
        `note=${plant.text('--set note')}`,
        `by=${plant.text('--set by', 1)}`,
      ],
    ].entries()) {
      const [position = '', ...set] = sets;
      const args = ['fork', 'answers-1', '--at', position, ...set.flatMap((each) => ['--set', each])];
      expect((await call(...args, '--into', `out/branch-${index}.db`)).stderr).toBe('');
      await call(...args, '--json');
    }
  });
});

/** Every command that shows something of a run. */
const LOOKS = ['show', 'events', 'why', 'replay', 'graph'];
const OTHERS = [
  ['export', '-'],
  ['ps', '--all'],
  ['questions'],
  ['issues'],
  ['stats'],
  ['audit'],
  ['verify'],
  ['doctor'],
];

describe('S12: what is written and printed', () => {
  it('S12: none of at least 200 secrets is in the log, beside it, in what is exported, or on the terminal', async () => {
    const runs = JSON.parse((await call('ps', '--all', '--json')).stdout) as readonly { id: string }[];
    expect(runs.length).toBeGreaterThan(20);
    for (const json of [[], ['--json']]) {
      for (const id of ['answers-1', 'stderr-1'])
        for (const command of LOOKS) await call(command, id, ...json);
      for (const args of OTHERS) await call(...args, ...json);
    }
    await call('export', 'out/log.jsonl');
    await call('export', 'out/progress.json', '--format', 'progress', '--run', 'answers-1');
    for (const { id } of runs.filter((run) => run.id.startsWith('import-')))
      await call('export', `out/${id}.jsonl`, '--format', 'feedback', '--run', id);
    expect((await call('backup', 'out/backup.db')).code).toBe(0);
    expect((await call('import', 'out/log.jsonl', '--db', 'out/again.db')).code).toBe(0);
    expect(plant.planted().length).toBeGreaterThanOrEqual(200);
    const written = new Map([
      ...filesIn(join(cli.folder, '.loopwright')),
      ...filesIn(join(cli.folder, 'out')),
    ]);
    expect([...written.keys()]).toEqual(
      expect.arrayContaining(['log.db', 'log.db.inbox', 'backup.db', 'branch-0.db', 'log.jsonl']),
    );
    expect(leaksIn(new Map([...written, ...printed]), plant.planted())).toEqual([]);
  });

  it('S12, control: what is no secret by any rule is found in all of them', () => {
    const control = [{ where: 'the control', needles: [CONTROL] }];
    const found = leaksIn(filesIn(join(cli.folder, '.loopwright')), control);
    expect(found.join()).toContain('log.db');
    expect(leaksIn(filesIn(join(cli.folder, 'out')), control).join()).toMatch(/log\.jsonl.*|backup\.db/);
    expect(leaksIn(printed, control).length).toBeGreaterThan(5);
    writeFileSync(join(cli.folder, 'out/control'), plant.values[0] ?? '');
    expect(leaksIn(filesIn(join(cli.folder, 'out')), plant.planted())).toHaveLength(1);
  });
});
