/** A loop of the demonstration: a workflow file as a user would write it, and what a run of it shows. */
export interface DemoFile {
  readonly loop: 'tight' | 'feedback' | 'refinement' | 'phases' | 'tree';
  readonly title: string;
  /** What happens, in two or three sentences: what the log must bear out. */
  readonly about: string;
  readonly text: string;
}

const tight: DemoFile = {
  loop: 'tight',
  title: 'The tight loop',
  about: 'A developer is corrected until the review and the tests both pass in the same pass.',
  text: `
name: demo-tight
loop: tight
onLimit: stop
input: Export rows as CSV
agents:
  developer:
    script:
      - { summary: wrote csv.mjs }
      - { summary: wrote csv.mjs without var }
      - { summary: wrote csv.mjs with quotes around what needs them }
  reviewer:
    script:
      - passed: false
        issues: [{ severity: high, category: style, file: csv.mjs, line: 2, description: use const in place of var }]
      - { passed: true, issues: [] }
      - { passed: true, issues: [] }
  tester:
    script:
      - passed: false
        issues: [{ severity: high, category: test, file: csv.test.mjs, line: 6, description: quotes what needs quotes }]
      - { passed: true, issues: [] }
`,
};

const feedback: DemoFile = {
  loop: 'feedback',
  title: 'Feedback between agents',
  about:
    'The developer finds out that a decision of others cannot hold. The run pauses until they have agreed on another one, and goes on with it.',
  text: `
name: demo-feedback
loop: plan
onLimit: stop
input: An editor for several people
steps:
  - { id: requirements, agent: pm }
  - { id: architecture, agent: architect, needs: [requirements] }
  - { id: code, agent: developer, needs: [architecture] }
agents:
  pm:
    script:
      - { requirement: people see the changes of others at once }
      - { option: switch_hosting, note: polling is slow }
      - { option: use_polling, note: one second will do }
  architect:
    script:
      - { realtime: WebSockets }
      - { option: use_polling, note: one second is soon enough }
      - { option: use_polling, note: one second is soon enough }
  developer:
    script:
      - loopwright: 1
        output: null
        feedback:
          - type: constraint_violation
            targets: [architect, pm]
            severity: blocking
            requirement: REQ-123
            description: The hosting has no WebSockets.
            details: { constraint: Functions of the hosting end after ten seconds. }
            options:
              - { option: use_polling, effort: low, impact: changes are seen later }
              - { option: switch_hosting, effort: high, impact: deployment changes }
      - { realtime: polling }
`,
};

const refinement: DemoFile = {
  loop: 'refinement',
  title: 'Stories that are refined',
  about:
    'A review sends a story back to the phase at fault: once to the code, once to what was understood of it.',
  text: `
name: demo-refinement
loop: stories
mode: auto
concurrency: 1
onFailure: stop
refinement: { maxIterations: 3, escalateOnMaxAttempts: error }
input:
  stories:
    - { id: slug, title: Slugs for titles, body: '"A  b!" becomes "a-b"' }
agents:
  research: { script: [{ known: titles are plain text }, { known: titles may hold any script }] }
  plan: { script: [{ steps: [write slug.mjs] }, { steps: [write slug.mjs for all scripts] }] }
  implement:
    script:
      - { file: slug.mjs, attempt: 1 }
      - { file: slug.mjs, attempt: 2 }
      - { file: slug.mjs, attempt: 3 }
  review:
    script:
      - decision: rejected
        passed: false
        issues: [{ severity: critical, category: code, description: '"A  b!" gives "a--b!"', file: slug.mjs }]
        feedback: It does not do what the story says.
      - decision: rejected
        passed: false
        issues: [{ severity: critical, category: requirements, description: titles in Greek become empty, file: slug.mjs }]
        feedback: Other scripts were not thought of.
      - { decision: approved, passed: true, issues: [], feedback: It works. }
  create-pr: { script: [{ url: https://example.org/pull/1 }] }
`,
};

const phases: DemoFile = {
  loop: 'phases',
  title: 'Corrections in the phase that made the defect',
  about:
    'The plan has forgotten authentication. The review of the design finds it, and the plan is made again, not the design alone.',
  text: `
name: demo-phases
loop: phases
onLimit: stop
input: A user management system
phases:
  - { id: planning }
  - { id: design, needs: [planning] }
  - { id: design-review, kind: review, needs: [design] }
  - { id: code, needs: [design, design-review] }
  - { id: test, kind: test, needs: [code] }
agents:
  planning:
    script:
      - { units: [CreateUser, DeleteUser] }
      - { units: [CreateUser, DeleteUser, Authentication] }
  design:
    script:
      - { endpoints: [/CreateUser, /DeleteUser] }
      - { endpoints: [/CreateUser, /DeleteUser, /Authentication] }
  design-review:
    script:
      - assessment: FAIL
        issues:
          - id: AUTH-1
            category: security
            severity: critical
            description: Missing authentication requirement
            evidence: the endpoints are /CreateUser and /DeleteUser
            impact: anybody may delete users
            affectedPhases: [planning]
      - { assessment: PASS, issues: [] }
  code: { script: [{ files: [users.mjs] }] }
  test: { script: [{ assessment: PASS, issues: [] }] }
`,
};

const tree: DemoFile = {
  loop: 'tree',
  title: 'Fix and verify in a tree',
  about:
    'A test asks the node above it for a fix, looks again when it is there, and only then is the feedback resolved.',
  text: `
name: demo-tree
loop: tree
onLimit: stop
input: { task: Take payments }
nodes:
  - { id: payment-model }
  - { id: payment-test, parent: payment-model }
agents:
  payment-model:
    script:
      - { validates: [amount] }
      - { validates: [amount, email] }
  payment-test:
    script:
      - loopwright: 1
        output: { passed: false }
        feedback:
          - type: FEEDBACK
            from_node: payment-test
            to_node: payment-model
            feedback_type: FIX_REQUEST
            message: A payment without an e-mail address was let through.
            suggested_fix: Require the e-mail address in the model.
            priority: high
      - { passed: true }
`,
};

/** All loops of the package, each on agents whose answers are known before. */
export const DEMO_FILES: readonly DemoFile[] = [tight, feedback, refinement, phases, tree];
