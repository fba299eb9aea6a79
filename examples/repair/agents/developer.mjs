/**
 * A developer that is a plain program. It knows nothing of the project: it mends what its request tells it of, and nothing else.
 *
 * - What the review found is mended at the line that it names, by the rule of its category.
 * - For a test that failed, the function that it is about (the name of its suite) is changed in small ways, one after the other, until
 *   that test passes and no other fails anew. At most two tests in one call: the rest comes back with the next request.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const TESTS_IN_ONE_CALL = 2;

const { input } = JSON.parse(readFileSync(0, 'utf8'));
const done = [
  ...mendReview(input.reviewIssues),
  ...mendTests(input.testFailures.slice(0, TESTS_IN_ONE_CALL)),
];
console.log(JSON.stringify({ summary: done.length === 0 ? 'was told of nothing to mend' : done.join('; ') }));

/** From the last line to the first: what is above stays where it was. */
function mendReview(issues) {
  return issues
    .toSorted((one, other) => other.line - one.line)
    .flatMap(({ file, line, category, description }) => {
      const lines = readFileSync(file, 'utf8').split('\n');
      if (category === 'debugging') lines.splice(line - 1, 1);
      else if (category === 'documentation') lines.splice(line - 1, 0, `/** ${sentenceFor(description)} */`);
      else return [];
      writeFileSync(file, lines.join('\n'));
      return [`mended "${description}" in ${file}`];
    });
}

/** `isShippedFree` says by its name what it is. */
function sentenceFor(description) {
  const [, name = ''] = /"(\w+)"/.exec(description) ?? [];
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}: see its tests.`;
}

function mendTests(failures) {
  let before = failures.length === 0 ? [] : failingTests();
  return failures.flatMap(({ description }) => {
    const [suite = '', test = ''] = description.split(' > ');
    for (const change of changesFor(suite)) {
      writeFileSync(change.file, change.after);
      const failing = failingTests();
      const isBetter = !failing.includes(test) && failing.every((name) => before.includes(name));
      if (isBetter) {
        before = failing;
        return [`made "${description}" pass: ${change.what}`];
      }
      writeFileSync(change.file, change.before);
    }
    return [`found no way to make "${description}" pass`];
  });
}

/** The names of the tests that fail now. */
function failingTests() {
  const { stdout } = spawnSync(process.execPath, ['--test-reporter=tap', 'test/cart.test.mjs'], {
    encoding: 'utf8',
  });
  return [...stdout.matchAll(/^\s*not ok \d+ - (.+)$/gm)].map(([, name]) => name);
}

/** Every small change of the lines of a function. */
function changesFor(name) {
  const SWAPS = [
    [' - ', ' + '],
    [' + ', ' - '],
    [' > ', ' >= '],
    [' < ', ' <= '],
    [' && ', ' || '],
    ['=== ', '!== '],
  ];
  return readdirSync('src').flatMap((entry) => {
    const file = `src/${entry}`;
    const before = readFileSync(file, 'utf8');
    const lines = before.split('\n');
    const start = lines.findIndex((line) => line.startsWith(`export const ${name} =`));
    if (start < 0) return [];
    const length = lines.slice(start).findIndex((line) => line === '};') + 1;
    return lines.slice(start, start + length).flatMap((line, index) =>
      SWAPS.filter(([from]) => line.includes(from)).map(([from, to]) => ({
        file,
        before,
        after: lines.with(start + index, line.replace(from, to)).join('\n'),
        what: `"${from.trim()}" became "${to.trim()}" in line ${start + index + 1} of ${file}`,
      })),
    );
  });
}
