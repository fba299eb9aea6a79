import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder, jsonLines, passes, rejects, tight } from '../support/cli.ts';

interface Expected {
  readonly verdict: string;
  readonly code: number;
  readonly content: unknown;
}

const VERDICTS: readonly Expected[] = [
  { verdict: 'verified', code: 0, content: tight('verified', { review: [rejects('a'), passes, passes] }) },
  {
    verdict: 'exhausted',
    code: 4,
    content: tight('exhausted', { maxIterations: 1, review: [rejects('a')] }),
  },
  {
    verdict: 'stalled',
    code: 4,
    content: tight('stalled', { review: [rejects('a'), rejects('a'), rejects('a')] }),
  },
  {
    verdict: 'failed',
    code: 1,
    content: {
      name: 'failed',
      loop: 'tight',
      onLimit: 'stop',
      agents: {
        developer: { script: [{ fail: 'broken' }], attempts: 1 },
        reviewer: { script: [] },
        tester: { script: [] },
      },
    },
  },
];

const ASKING = tight('asking', { onLimit: 'ask', maxIterations: 1, review: [rejects('a'), passes] });

let cli: CliFolder;
beforeAll(() => {
  cli = cliFolder();
});
afterAll(() => cli.remove());

// Method: every verdict comes from a workflow file and the built binary; what `ps` and `show` say is read by processes of their own.
describe('how a run ended', () => {
  it.each(VERDICTS)('a run that ends $verdict exits with $code, and ps and show say so', async (expected) => {
    const { verdict, code, content } = expected;
    const file = cli.file(`${verdict}.yaml`, content);
    const ran = await cli.run('run', file, 'a task', '--json');
    expect(ran.code).toBe(code);
    const last = jsonLines(ran.stdout).at(-1);
    expect(last).toMatchObject({ type: 'ended', run: `${verdict}-1`, verdict });
    const inWords = await cli.run('run', file, 'a task');
    expect(inWords.code).toBe(code);
    expect(inWords.stdout).toContain(`${verdict}-2: ${verdict} (`);
    expect(inWords.stdout).toContain(`loopwright why ${verdict}-2`);
    const listed = await cli.json(['ps']);
    expect(listed).toContainEqual(expect.objectContaining({ id: `${verdict}-1`, status: verdict }));
    const shown = await cli.json(['show', `${verdict}-1`]);
    expect(shown).toMatchObject({ id: `${verdict}-1`, status: verdict, workflow: verdict });
    expect((await cli.run('show', `${verdict}-2`)).stdout).toContain(`${verdict} version 1  ${verdict}`);
  });

  it('a run that waits exits with 3; taken as it is it ends accepted with 0; cancelled, resume has nothing to do', async () => {
    const file = cli.file('asking.yaml', ASKING);
    const asked = await cli.run('run', file, 'a task', '--no-ask');
    expect(asked.code).toBe(3);
    expect(asked.stdout).toContain('asking-1 asks a person');
    expect(asked.stdout).toContain('Answer with: loopwright answer asking-1/question OPTION\n');
    expect(await cli.json(['ps', '--waiting'])).toMatchObject([{ id: 'asking-1', status: 'waiting' }]);
    expect((await cli.run('resume', 'asking-1', '--no-ask')).code).toBe(3);
    const said = await cli.json(['answer', 'asking-1', 'accept', '--by', 'ada', '--note', 'good enough']);
    expect(said).toMatchObject({ question: 'asking-1/question', option: 'accept', verdict: 'accepted' });
    expect(await cli.json(['show', 'asking-1'])).toMatchObject({
      status: 'accepted',
      result: { output: { decidedBy: 'ada' } },
    });
    const again = await cli.run('run', file, 'a task', '--no-ask', '--json');
    expect(again.code).toBe(3);
    expect(jsonLines(again.stdout).at(-1)).toMatchObject({ type: 'waiting', run: 'asking-2' });
    expect((await cli.run('cancel', 'asking-2', '--reason', 'enough')).code).toBe(0);
    expect(await cli.json(['show', 'asking-2'])).toMatchObject({ status: 'cancelled' });
    expect((await cli.run('resume', 'asking-2')).code).toBe(2);
    expect((await cli.run('resume')).stdout).toContain('No run is open');
  });

  it('run itself tells of a run that was accepted or cancelled from elsewhere, with 0 and 4', async () => {
    const file = cli.file('asking.yaml', ASKING);
    for (const [verdict, code, ...decide] of [
      ['accepted', 0, 'answer', 'decided-accepted', 'accept'],
      ['cancelled', 4, 'cancel', 'decided-cancelled'],
    ] as const) {
      const id = `decided-${verdict}`;
      const started = cli.start('run', file, 'a task', '--wait', '--json', '--id', id);
      await started.wrote('"type":"question"');
      expect((await cli.run(...decide)).code).toBe(0);
      const ran = await started.ended;
      expect(jsonLines(ran.stdout).at(-1)).toMatchObject({ type: 'ended', run: id, verdict });
      expect(ran.code).toBe(code);
      expect(await cli.json(['ps'])).toContainEqual(expect.objectContaining({ id, status: verdict }));
    }
  });

  it('after an answer, resume goes on to the end: of several runs the worst decides', async () => {
    const other = cliFolder();
    try {
      const good = other.file('good.yaml', { ...ASKING, name: 'good' });
      const bad = other.file('bad.yaml', {
        ...tight('bad', { onLimit: 'ask', maxIterations: 1, review: [rejects('a'), rejects('b')] }),
      });
      expect((await other.run('run', good, 'x')).code).toBe(3);
      expect((await other.run('run', bad, 'x')).code).toBe(3);
      expect((await other.run('answer', 'good', 'continue')).stdout).toContain('loopwright resume good-1');
      expect((await other.run('answer', 'bad', 'continue', '--value', '1')).code).toBe(0);
      const ran = await other.run('resume', '--json');
      expect(ran.code).toBe(3);
      const ends = jsonLines(ran.stdout).filter(({ type }) => type === 'ended' || type === 'waiting');
      expect(ends).toHaveLength(2);
      expect(ends).toContainEqual(expect.objectContaining({ run: 'good-1', verdict: 'verified' }));
      expect(ends).toContainEqual(expect.objectContaining({ run: 'bad-1', type: 'waiting' }));
    } finally {
      await other.remove();
    }
  });
});
