import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { aliasesOf } from '../../src/files/aliases.ts';
import { LOOP_FORMS } from '../../src/files/loop-forms.ts';
import { parseWorkflowFile } from '../../src/index.ts';

const page = readFileSync('docs/WORKFLOW-FILES.md', 'utf8');
const files = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => text);

it('every file in the documentation is read', () => {
  expect(files.length).toBeGreaterThan(1);
  for (const text of files) expect(parseWorkflowFile(text, { path: 'page.yaml' }).agents).not.toEqual({});
});

it('the documentation names every loop, all of its options and all other names', () => {
  for (const [loop, form] of Object.entries(LOOP_FORMS)) {
    expect(page).toContain(`| \`${loop}\` |`);
    const missing = Object.keys(form.shape).filter(
      (name) => !page.includes(`\`${name}\``) && name !== '$schema',
    );
    expect(missing, loop).toEqual([]);
    for (const [alias, name] of Object.entries(aliasesOf(loop))) {
      const row = page
        .split('\n')
        .find((line) => line.startsWith(`| \`${loop}\``) && line.includes(`\`${alias}\``));
      expect(row).toContain(`\`${name.join('.')}\``);
    }
  }
});
