import { isContainer, isTree, type StateData } from './state-data.ts';

/**
 * Plain data for folds to work on, event by event, with a guard before each object. Drafts and a restart see to it that after
 * an event no object is in two places of the state: what looks alike is changed apart. Plain data does not, so the guards
 * notice each object that is put anywhere, and after the event it is looked up whether it now stands in two places.
 *
 * It costs a fraction of a draft, since nothing is copied, and the same for a big state as for a small one.
 */
export class GuardedState {
  /** What folds may change. */
  readonly root: StateData;
  readonly #plain: StateData;
  readonly #guards = new WeakMap<StateData, StateData>();
  readonly #behind = new WeakMap<StateData, StateData>();
  /** Objects that were put into the state before this event. */
  readonly #known = new WeakSet<StateData>();
  /** Objects that this event made and put into the state. As with drafts, there is no guard before them until it is over. */
  readonly #fresh = new Set<StateData>();
  #hasMoved = false;

  /** Takes over `plain`: nobody else may hold on to a part of it. */
  constructor(plain: StateData) {
    this.#plain = plain;
    this.root = this.#guardOf(plain);
  }

  /** Ends an event. False if an object stands in two places now: the state is of no use any more. */
  settle(): boolean {
    for (const value of this.#fresh) this.#takeIn(value);
    this.#fresh.clear();
    if (!this.#hasMoved) return true;
    this.#hasMoved = false;
    return isTree(this.#plain);
  }

  /** The data itself, without its guards. */
  release(): StateData {
    return this.#plain;
  }

  #guardOf(plain: StateData): StateData {
    const guard = this.#guards.get(plain);
    if (guard !== undefined) return guard;
    const made = new Proxy(plain, this.#handler);
    this.#guards.set(plain, made);
    this.#behind.set(made, plain);
    return made;
  }

  readonly #handler: ProxyHandler<StateData> = {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (!isContainer(value)) return value;
      if (this.#fresh.has(value)) return value;
      return this.#guardOf(Object.isFrozen(value) ? thaw(target, key, value) : value);
    },
    set: (target, key, value: unknown) => Reflect.set(target, key, this.#note(value)),
    // Drafts refuse these as well.
    defineProperty: () => refuse('define properties'),
    setPrototypeOf: () => refuse('change prototypes'),
  };

  /** What is to be stored for a value that a fold has put somewhere. */
  #note(value: unknown): unknown {
    if (!isContainer(value)) return value;
    const plain = this.#behind.get(value);
    const isNew = plain === undefined && !this.#known.has(value) && !this.#fresh.has(value);
    if (isNew) this.#fresh.add(value);
    else this.#hasMoved = true;
    return plain ?? value;
  }

  /** Takes the guards off what a fold has built in its new objects. */
  #takeIn(value: StateData): void {
    if (this.#known.has(value)) {
      this.#hasMoved = true;
      return;
    }
    if (Object.isFrozen(value)) return;
    this.#known.add(value);
    for (const [key, member] of Object.entries(value)) {
      if (!isContainer(member)) continue;
      const plain = this.#behind.get(member);
      if (plain === undefined) this.#takeIn(member);
      else {
        Reflect.set(value, key, plain);
        this.#hasMoved = true;
      }
    }
  }
}

/** A part of an event, most likely: others read the same object, so that this place gets a copy to change. */
function thaw(target: StateData, key: PropertyKey, value: StateData): StateData {
  const copy = structuredClone(value);
  Reflect.set(target, key, copy);
  return copy;
}

function refuse(what: string): never {
  throw new TypeError(`A fold may not ${what} of its state.`);
}
