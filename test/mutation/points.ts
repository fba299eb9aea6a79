import { parseAst } from 'rolldown/parseAst';

/** What is taken out: a guard is made to say always the same, a counter no longer counts, a limit is never met. */
export type Kind = 'always true' | 'always false' | 'does not count' | 'is never met';

/** One change of one place in the source. */
export interface Mutant {
  /** Stays the same while its place keeps its name: what the list of survivors goes by. */
  readonly name: string;
  readonly machine: string;
  readonly kind: Kind;
  readonly place: string;
}

/** A source file in which every mutant can be switched on while it runs, and what they are. */
export interface Mutable {
  readonly code: string;
  readonly mutants: readonly Mutant[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

interface Edit {
  readonly at: number;
  readonly text: string;
}

/** The functions that instrumented code calls: each asks whether the mutant of this name is switched on. */
export const SWITCHES = { guard: '__mutateGuard', count: '__mutateCount', gone: '__mutateGone' } as const;

/** Which machine the rules of a file belong to. */
const machineOf = (file: string): string => {
  const [, name = ''] = file.match(/([\w-]+)\.ts$/) ?? [];
  if (name.startsWith('fix-verify')) return 'fix-verify';
  const first = name.split('-')[0] ?? '';
  return ['gates', 'issues', 'limits', 'loop', 'check', 'gap', 'plan', 'fix'].includes(first) ? 'run' : first;
};

const LIMIT_CALLS = ['metLimit', 'budgetMet'];
const SUM_CALLS = ['addSpent', 'spend', 'withCount'];
/** In these, one more is a place in a text or a list, and nothing is counted. */
const NO_COUNT = ['TemplateLiteral', 'ForStatement', 'ComputedMember'];

/** Finds what can be taken out of a file. */
export const mutable = (file: string, source: string): Mutable => {
  const finder = new Finder(file, source);
  finder.visit(parseAst(source, { lang: 'ts' }) as unknown as Node, []);
  return { code: applied(source, finder.edits), mutants: finder.mutants };
};

class Finder {
  readonly edits: Edit[] = [];
  readonly mutants: Mutant[] = [];
  readonly #file: string;
  readonly #source: string;
  readonly #names = new Map<string, number>();

  constructor(file: string, source: string) {
    this.#file = file;
    this.#source = source;
  }

  visit(node: Node, above: readonly Node[]): void {
    this.#look(node, above);
    const below = [...above, node];
    for (const member of Object.values(node))
      for (const child of Array.isArray(member) ? member : [member])
        if (isNode(child)) this.visit(child, below);
  }

  #look(node: Node, above: readonly Node[]): void {
    if (node.type === 'Property' && isFunction(node['value'])) {
      const name = nameOf(node['key']);
      const holder = above.at(-2);
      const isNamed = holder?.type === 'Property' && nameOf(holder['key']) === 'guards';
      if (isNamed || name === 'guard')
        this.#guard(node['value'] as Node, `guard ${isNamed ? name : 'in place'}`);
    }
    if (isCounting(node) && !isMerePlace(above)) this.#count(node);
    const called = node.type === 'CallExpression' ? nameOf(node['callee']) : '';
    if (LIMIT_CALLS.includes(called))
      this.#replace(node, 'is never met', `limit ${this.#enclosing(above)}`, 'undefined');
    if (SUM_CALLS.includes(called)) {
      const [first] = node['arguments'] as readonly Node[];
      if (first) this.#replace(node, 'does not count', `sum ${this.#enclosing(above)}`, this.#text(first));
    }
  }

  #guard(given: Node, what: string): void {
    const body = given['body'] as Node;
    const place = this.#placed(what);
    this.#add(place, 'always true');
    this.#add(place, 'always false');
    const call = `${SWITCHES.guard}(${JSON.stringify(place)})`;
    if (body.type === 'BlockStatement')
      this.#insert(body.start + 1, ` { const forced = ${call}; if (forced !== undefined) return forced; }`);
    else {
      this.#insert(body.start, `(${call} ?? (`);
      this.#insert(body.end, '))');
    }
  }

  #count(node: Node): void {
    const one = node['right'] as Node;
    const place = this.#placed(`count ${this.#text(node['left'] as Node)}`);
    this.#add(place, 'does not count');
    this.#insert(one.start, `${SWITCHES.count}(${JSON.stringify(place)}, `);
    this.#insert(one.end, ')');
  }

  #replace(node: Node, kind: Kind, what: string, by: string): void {
    const place = this.#placed(what);
    this.#add(place, kind);
    this.#insert(node.start, `(${SWITCHES.gone}(${JSON.stringify(place)}) ? ${by} : `);
    this.#insert(node.end, ')');
  }

  /** The function that something is in: a name that is the same when lines move. */
  #enclosing(above: readonly Node[]): string {
    const holder = above.findLast(
      ({ type, init, id, value, key }) =>
        (type === 'VariableDeclarator' && isFunction(init) && isNode(id)) ||
        (type === 'FunctionDeclaration' && isNode(id)) ||
        (type === 'Property' && isFunction(value) && isNode(key)),
    );
    return holder ? `in ${nameOf(holder['id'] ?? holder['key'])}` : 'here';
  }

  /** Numbered where the same text comes again. */
  #placed(what: string): string {
    const place = `${this.#file}: ${what.replaceAll(/\s+/g, ' ')}`;
    const nth = (this.#names.get(place) ?? 0) + 1;
    this.#names.set(place, nth);
    return nth === 1 ? place : `${place} (${nth})`;
  }

  #add(place: string, kind: Kind): void {
    this.mutants.push({ name: `${place} ${kind}`, machine: machineOf(this.#file), kind, place });
  }

  #insert(at: number, text: string): void {
    this.edits.push({ at, text });
  }

  #text({ start, end }: Node): string {
    return this.#source.slice(start, end);
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

const isFunction = (value: unknown): boolean =>
  isNode(value) && (value.type === 'ArrowFunctionExpression' || value.type === 'FunctionExpression');

const nameOf = (node: unknown): string =>
  isNode(node) && typeof node['name'] === 'string' ? node['name'] : '';

const isOne = (node: unknown): boolean => isNode(node) && node['value'] === 1;

/** One more, or one more if. */
const isCounting = ({ type, operator, right, left }: Node): boolean => {
  if (type !== 'BinaryExpression' || operator !== '+' || !isNode(right)) return false;
  if (nameOf(left) === 'index') return false;
  const inner = right.type === 'ParenthesizedExpression' ? right['expression'] : right;
  return (
    isOne(inner) || (isNode(inner) && inner.type === 'ConditionalExpression' && isOne(inner['consequent']))
  );
};

const COMPARISONS = ['<', '>', '<=', '>=', '===', '!=='];

/** A place in a text or a list, or a comparison, which is a guard's own. */
const isMerePlace = (above: readonly Node[]): boolean => {
  const parent = above.at(-1);
  if (parent?.type === 'BinaryExpression' && COMPARISONS.includes(String(parent['operator']))) return true;
  if (parent?.type === 'MemberExpression' || parent?.type === 'CallExpression') return true;
  return above.some(({ type }) => NO_COUNT.includes(type));
};

/** Edits only add text: those at the same place stay in the order in which they were made. */
const applied = (source: string, edits: readonly Edit[]): string => {
  const inOrder = [...edits].sort((one, other) => one.at - other.at);
  let code = '';
  let from = 0;
  for (const { at, text } of inOrder) {
    code += source.slice(from, at) + text;
    from = at;
  }
  return code + source.slice(from);
};
