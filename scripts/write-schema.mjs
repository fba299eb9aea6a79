// Writes schema/workflow.schema.json from the form of workflow files: npm run build && node scripts/write-schema.mjs && npm run format
import { writeFileSync } from 'node:fs';
import { workflowSchema } from '../dist/files/json-schema.js';

writeFileSync('schema/workflow.schema.json', `${JSON.stringify(workflowSchema(), undefined, 2)}\n`);
