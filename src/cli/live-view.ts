import { cutTo, escapeLine } from './escape.ts';
import type { Glance } from './glance.ts';
import { type AgentAtWork } from './glance.ts';
import type { Terminal } from './terminal.ts';
import { duration, money } from './text.ts';

/** What is shown of a run while it goes on. */
export interface LiveRun {
  readonly id: string;
  readonly glance: Glance | undefined;
  readonly atWork: readonly AgentAtWork[];
  readonly note: string;
}

/** `ship-1  implement  pass 2 of 5  developer 12s  $0.10 of $2.00`. Without times, if it is to stand for a change. */
export const liveLine = ({ id, glance, atWork, note }: LiveRun, nowMs: number | null): string => {
  const agents = atWork.map(({ agent, sinceMs }) =>
    nowMs === null ? agent : `${agent} ${duration(nowMs - sinceMs)}`,
  );
  const cost =
    glance && (glance.costUsd > 0 || glance.costMaxUsd !== null)
      ? `${money(glance.costUsd)}${glance.costMaxUsd === null ? '' : ` of ${money(glance.costMaxUsd)}`}`
      : '';
  return [id, glance?.step ?? '', passOf(glance), agents.join(', '), cost, note]
    .filter((part) => part !== '')
    .map(escapeLine)
    .join('  ');
};

const passOf = (glance: Glance | undefined): string => {
  if (!glance || glance.pass === null) return '';
  return `pass ${glance.pass}${glance.passesMax === null ? '' : ` of ${glance.passesMax}`}`;
};

const FRAME_MS = 200;
const LINES_MAX = 8;
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** Shows runs while they go on: in place on a terminal, else a line for each change. */
export interface LiveView {
  show(runs: readonly LiveRun[]): void;
  /** A line that stays, above those that are redrawn. */
  say(line: string): void;
  /** Takes the redrawn lines away, so that somebody can be asked, and puts them back. */
  hold(isHeld: boolean): void;
  close(): void;
}

export const createLiveView = (terminal: Terminal): LiveView =>
  terminal.isTty && !terminal.isJson ? redrawn(terminal) : lineByLine(terminal);

const lineByLine = (terminal: Terminal): LiveView => {
  const last = new Map<string, string>();
  return {
    show(runs) {
      for (const run of runs) {
        const line = liveLine(run, null);
        // Between two agents there is nothing to tell.
        const isBetween = run.atWork.length === 0 && last.has(run.id) && !terminal.isJson;
        if (isBetween || last.get(run.id) === line) continue;
        last.set(run.id, line);
        if (terminal.isJson) terminal.json(toJson(run));
        else terminal.say(line);
      }
    },
    say: (line) => terminal.say(line),
    hold: () => undefined,
    close: () => undefined,
  };
};

const toJson = ({ id, glance, atWork, note }: LiveRun) => ({
  type: 'progress',
  run: id,
  ...glance,
  agents: atWork.map(({ agent }) => agent),
  ...(note !== '' && { note }),
});

const redrawn = (terminal: Terminal): LiveView => {
  let shown: readonly LiveRun[] = [];
  let height = 0;
  let frame = 0;
  let isHeld = false;
  const clear = () => {
    if (height > 0) terminal.draw(`\u001b[${height}A\r\u001b[0J`);
    height = 0;
  };
  const draw = () => {
    if (isHeld) return;
    clear();
    const lines = shown.slice(0, LINES_MAX).map((run) => {
      const mark = run.atWork.length > 0 ? (SPINNER[frame % SPINNER.length] ?? '') : '·';
      // A line that wraps would not be found again by counting lines.
      return cutTo(`${mark} ${liveLine(run, Date.now())}`, Math.max(10, terminal.columns - 1));
    });
    const left = shown.length - lines.length;
    const all = left > 0 ? [...lines, `  and ${left} more`] : lines;
    if (all.length > 0) terminal.draw(`${all.map((line) => terminal.colors.dim(line)).join('\n')}\n`);
    height = all.length;
  };
  const timer = setInterval(() => {
    frame += 1;
    draw();
  }, FRAME_MS);
  timer.unref();
  return {
    show(runs) {
      shown = runs;
      draw();
    },
    say(line) {
      clear();
      terminal.say(line);
      draw();
    },
    hold(held) {
      if (held) clear();
      isHeld = held;
      if (!held) draw();
    },
    close() {
      clearInterval(timer);
      clear();
      isHeld = true;
    },
  };
};
