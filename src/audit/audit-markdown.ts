import type { AuditFilter } from './audit-filter.ts';
import type { ActorChanged, AuditEntry, DecidedBy } from './audit-trail.ts';

/** The audit as a table that people can read, and mail. */
export const toMarkdown = (entries: readonly AuditEntry[], filter: AuditFilter): string => {
  const parts = Object.entries(filter).map(([name, value]) => `${name} ${cell(String(value))}`);
  return [
    `# Audit${parts.length === 0 ? '' : ` of ${parts.join(', ')}`}`,
    '',
    `${entries.length} events.`,
    '',
    '| # | when | who | what | why | caused by | decided by | changed |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...entries.map(row),
    '',
  ].join('\n');
};

const row = ({ position, when, who, what, why, causedBy, decidedBy, changed }: AuditEntry): string => {
  const cells = [
    String(position),
    when,
    who,
    what,
    why ?? '',
    causedBy ? `${causedBy.position}: ${causedBy.what}` : '',
    decidedBy ? decider(decidedBy) : '',
    changes(changed),
  ];
  return `| ${cells.map(cell).join(' | ')} |`;
};

const decider = (decided: DecidedBy): string =>
  'limit' in decided
    ? `limit ${decided.limit}: ${decided.used} of ${decided.bound}`
    : `${'agents' in decided ? decided.agents.join(', ') : decided.person}${decided.option === null ? '' : `: ${decided.option}`}${decided.note === null ? '' : ` (${decided.note})`}`;

const changes = ({ following, ...own }: AuditEntry['changed']): string =>
  [
    ...changesOf(own),
    ...following.map(({ actor, ...change }) => `${actor}: ${changesOf(change).join(', ')}`),
  ].join('; ');

const changesOf = ({ state, context }: ActorChanged): readonly string[] => [
  ...(state
    ? [`${state.from === null ? '' : `${JSON.stringify(state.from)} → `}${JSON.stringify(state.to)}`]
    : []),
  ...context.map(({ path, before, after }) => `${path}: ${before} → ${after}`),
];

/** Nothing that an agent wrote may end a cell, a row or the table, or be taken for markup. */
const cell = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\\`*_[\]|~]/g, String.raw`\$&`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
