import fc from 'fast-check';
import { PRIORITIES, type Priority } from '../../src/events/tree-feedback.ts';
import {
  dequeue,
  EMPTY_QUEUE,
  enqueue,
  type PriorityQueue,
  queueItems,
  queueSize,
} from '../../src/machines/coordinator-queue.ts';

export interface Numbered {
  readonly n: number;
  readonly priority: Priority;
}

/** The queue of feedback gives what was put in, by priority, then first come: as a list does that is searched. */
export const queueOrder = fc.property(
  fc.array(fc.option(fc.constantFrom(...PRIORITIES)), { maxLength: 300, size: 'max' }),
  (steps) => {
    // Null takes the first out.
    let queue: PriorityQueue<Numbered> = EMPTY_QUEUE;
    let model: Numbered[] = [];
    const inOrder = () => PRIORITIES.flatMap((each) => model.filter(({ priority }) => priority === each));
    for (const [n, priority] of steps.entries()) {
      if (priority !== null) {
        queue = enqueue(queue, priority, { n, priority });
        model.push({ n, priority });
        continue;
      }
      const [first] = inOrder();
      const taken = dequeue(queue);
      if (taken?.item.n !== first?.n) return false;
      queue = taken?.rest ?? queue;
      model = model.filter((waiting) => waiting !== first);
    }
    const left = queueItems(queue).map(({ n }) => n);
    return (
      queueSize(queue) === model.length &&
      left.join() ===
        inOrder()
          .map(({ n }) => n)
          .join()
    );
  },
);
