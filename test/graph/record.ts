import { writeFileSync } from 'node:fs';
import { nameOf, reportOf } from './report.ts';
import { SCENES } from './scenes.ts';

/** Writes down what each scene comes to: for whoever has changed a machine, and has looked at what that changes. */
const recorded = Object.fromEntries(SCENES.map((scene) => [nameOf(scene), reportOf(scene)]));
writeFileSync('test/graph/expected.json', `${JSON.stringify(recorded, null, 2)}\n`);
