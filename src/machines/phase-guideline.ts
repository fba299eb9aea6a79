import type { Json } from '../events/json.ts';

/** How whoever finds a fault tells which phase made it. Data: a run may have another. */
export const GUIDELINE: Json = {
  planning: [
    'A requirement, or a unit of the work, is missing.',
    'The task was cut into the wrong parts.',
    'One unit depends on another, and the plan does not say so.',
    'The task was misunderstood from the beginning.',
  ],
  design: [
    'An interface is wrong: its methods, its error codes.',
    'The data is modelled badly: types of columns, indexes that are not there.',
    'The parts hang together badly: tight coupling, circles of dependencies.',
    'The design itself is not secure: no encryption, weak authentication.',
  ],
  code: [
    'The code does not do what the design says.',
    'The design is right, but the way in which it was written fails.',
  ],
  both: ['Plan and design have to change: a feature is missing in the one and so in the other.'],
  uncertain: [
    'Say "unknown": it goes to the last phase before yours.',
    'Describe why you could not tell. A person may put it right.',
  ],
};
