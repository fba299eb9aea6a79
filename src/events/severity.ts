/** How grave a finding is. Blocking and critical ones block a gate, and pause a run. */
export type Severity = 'blocking' | 'critical' | 'high' | 'medium' | 'low';

export const SEVERITIES: readonly Severity[] = ['blocking', 'critical', 'high', 'medium', 'low'];

export const isGrave = (severity: Severity): boolean => severity === 'blocking' || severity === 'critical';
