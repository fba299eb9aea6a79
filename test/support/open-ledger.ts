import { createRuntime, isRuntimeError, type RuntimeOptions, type Workflow } from 'loopwright';
import { errand, type Fetched, fetched, ledger, tallies } from './ledger.ts';

export const LEDGER_RUN = 'ledger';

type Fetch = (request: { readonly input: { readonly name: string } }) => Fetched | Promise<Fetched>;

const fetchAtOnce: Fetch = ({ input }) => fetched(input.name);

type LedgerOptions = Pick<
  RuntimeOptions<Workflow, unknown>,
  | 'durability'
  | 'exclusive'
  | 'reserveBytes'
  | 'restored'
  | 'projections'
  | 'log'
  | 'onWarning'
  | 'clock'
  | 'limits'
  | 'idle'
> & {
  /** What the agent of errands does; it answers at once unless given. */
  readonly fetch?: Fetch;
};

/** A runtime on the file for ledgers and errands. */
export const openLedger = (file: string, { fetch = fetchAtOnce, ...options }: LedgerOptions = {}) =>
  createRuntime({ file, workflows: [ledger, tallies, errand], agents: { fetch }, ...options });

export type LedgerRuntime = Awaited<ReturnType<typeof openLedger>>;

/** The one run of the ledger; it is begun if it is not there. */
export const ledgerRun = async (runtime: LedgerRuntime) => {
  try {
    return await runtime.run(LEDGER_RUN, 'ledger');
  } catch (error) {
    if (!isRuntimeError(error, 'UNKNOWN_RUN')) throw error;
    return runtime.start('ledger', undefined, { id: LEDGER_RUN });
  }
};
