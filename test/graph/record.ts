import { readFileSync, writeFileSync } from 'node:fs';
import { nameOf, type Report, reportOf } from './report.ts';
import { SCENES } from './scenes.ts';

const FILE = 'test/graph/expected.json';

/**
 * Writes down what each scene comes to: for whoever has changed a machine, and has looked at what that changes. With a part of their
 * names, of those scenes only.
 */
const record = (part: string): void => {
  const before = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, Report>>;
  const recorded = SCENES.map((scene) => {
    const name = nameOf(scene);
    return [name, name.includes(part) ? reportOf(scene) : before[name]] as const;
  });
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(recorded), null, 2)}\n`);
};

record(process.argv[2] ?? '');
