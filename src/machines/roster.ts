/**
 * The steps of a product team, for plans that need no other: analyst, pm, then architect and ux-expert side by side, developer,
 * qa. The orchestrator, who may send feedback to all of them, is the run itself.
 */
export const ROSTER = [
  { id: 'analysis', agent: 'analyst' },
  { id: 'prd', agent: 'pm', needs: ['analysis'] },
  { id: 'architecture', agent: 'architect', needs: ['prd'], group: 'design' },
  { id: 'ui_spec', agent: 'ux-expert', needs: ['prd'], group: 'design' },
  { id: 'code', agent: 'developer', needs: ['design'] },
  { id: 'report', agent: 'qa', needs: ['code'] },
] as const;
