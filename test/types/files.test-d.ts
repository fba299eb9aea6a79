import { expectTypeOf, it } from 'vitest';
import type { LOOP_FORMS } from '../../src/files/loop-forms.ts';
import type {
  CommandOptions,
  GivenCheck,
  GivenLimits,
  GivenNode,
  GivenPhase,
  GivenStep,
  PhaseRunOptions,
  PlanRunOptions,
  RepeatLoopOptions,
  StoryLoopOptions,
  TightLoopOptions,
  TreeRunOptions,
} from '../../src/index.ts';

type Forms = typeof LOOP_FORMS;
/** Options of the API that a file has no form for. A version is given by whoever keeps the definition. */
type Left<Options, Loop extends keyof Forms> = Exclude<keyof Options, keyof Forms[Loop]['shape'] | 'version'>;

it('every option of a loop that is data has a form in files', () => {
  expectTypeOf<Left<TightLoopOptions, 'tight'>>().toEqualTypeOf<never>();
  // Functions, and what agents are: persons stand among the agents of a file.
  expectTypeOf<Left<PlanRunOptions<[], never>, 'plan'>>().toEqualTypeOf<'functions' | 'persons'>();
  expectTypeOf<Left<StoryLoopOptions, 'stories'>>().toEqualTypeOf<never>();
  expectTypeOf<Left<PhaseRunOptions<[], Record<'', readonly never[]>, never>, 'phases'>>().toEqualTypeOf<
    'functions' | 'persons' | 'task'
  >();
  expectTypeOf<Left<TreeRunOptions<[], never, never>, 'tree'>>().toEqualTypeOf<'persons'>();
  expectTypeOf<Left<RepeatLoopOptions<string>, 'repeat'>>().toEqualTypeOf<never>();
});

type InputOf<Loop extends keyof Forms> = Forms[Loop]['_zod']['input'];
type Item<List> = List extends readonly (infer Each)[] ? Each : never;
type KeysOf<Union> = Union extends unknown ? keyof Union : never;

it('so have those of steps, checks, phases, nodes, limits and commands', () => {
  // A nested plan is a workflow of its own, shapes are functions or schemas.
  type Step = Item<InputOf<'plan'>['steps']>;
  expectTypeOf<Exclude<keyof GivenStep, keyof Step>>().toEqualTypeOf<'run'>();
  type Phase = Item<NonNullable<InputOf<'phases'>['phases']>>;
  expectTypeOf<Exclude<keyof GivenPhase, keyof Phase>>().toEqualTypeOf<'input' | 'output'>();
  type Node = Item<InputOf<'tree'>['nodes']>;
  expectTypeOf<Exclude<keyof GivenNode, keyof Node>>().toEqualTypeOf<never>();
  type Checks = Item<NonNullable<InputOf<'plan'>['checks']>>;
  expectTypeOf<Exclude<KeysOf<GivenCheck>, KeysOf<Checks>>>().toEqualTypeOf<never>();
  type Limits = NonNullable<InputOf<'tight'>['limits']>;
  expectTypeOf<Exclude<keyof GivenLimits, keyof Limits>>().toEqualTypeOf<never>();
  type Agents = InputOf<'tight'>['agents'][string];
  expectTypeOf<Exclude<keyof CommandOptions, KeysOf<Agents>>>().toEqualTypeOf<'schema'>();
});
