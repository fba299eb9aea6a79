/**
 * A linter as a reviewer: reads its request and ignores it, looks at all sources, and answers { passed, issues }.
 */
import { readdirSync, readFileSync } from 'node:fs';

readFileSync(0);

const RULES = [
  {
    category: 'debugging',
    find: (line) => (/^\s*console\.log\(/.test(line) ? 'a message for debugging is left in' : undefined),
  },
  {
    category: 'documentation',
    find: (line, before) => {
      const [, name] = /^export const (\w+)/.exec(line) ?? [];
      const isDescribed = /\*\/\s*$/.test(before ?? '');
      return name === undefined || isDescribed ? undefined : `the export "${name}" has no comment`;
    },
  },
];

const issues = readdirSync('src').flatMap((name) => {
  const file = `src/${name}`;
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, index) =>
    RULES.flatMap(({ category, find }) => {
      const description = find(line, lines[index - 1]);
      return description === undefined
        ? []
        : [{ severity: 'high', category, file, line: index + 1, description }];
    }),
  );
});

console.log(JSON.stringify({ passed: issues.length === 0, issues }));
