import type { Fault } from './fault.ts';
import { CALLS } from './rows/calls.ts';
import { CONCURRENCY } from './rows/concurrency.ts';
import { CONNECTION } from './rows/connection.ts';
import { DISK } from './rows/disk.ts';
import { INPUT } from './rows/input.ts';
import { INTERRUPTIONS } from './rows/interruptions.ts';
import { MCP_CLIENT } from './rows/mcp-client.ts';
import { MCP_SERVER } from './rows/mcp-server.ts';
import { PROCESS } from './rows/process.ts';
import { REFUSALS } from './rows/refusals.ts';
import { REPLIES } from './rows/replies.ts';
import { SILENCE } from './rows/silence.ts';
import { STATE } from './rows/state.ts';
import { STREAM } from './rows/stream.ts';
import { SURROUNDINGS } from './rows/surroundings.ts';
import { TRANSFERS } from './rows/transfers.ts';
import { WORKSPACE } from './rows/workspace.ts';

/** Every fault there is a row for. */
export const MATRIX: readonly Fault[] = [
  ...CONNECTION,
  ...REFUSALS,
  ...TRANSFERS,
  ...STREAM,
  ...SILENCE,
  ...REPLIES,
  ...CALLS,
  ...DISK.map(withFirstRun),
  ...INTERRUPTIONS,
  ...PROCESS,
  ...SURROUNDINGS,
  ...CONCURRENCY,
  ...INPUT,
  ...STATE,
  ...WORKSPACE,
  ...MCP_CLIENT,
  ...MCP_SERVER,
];

const FAMILIES = { N: 37, S: 32, D: 17, P: 24, C: 12, I: 11, J: 22, W: 9, M: 15, V: 10 } as const;

/** The ids of the fault table: 189 of them. */
export const IDS: readonly string[] = Object.entries(FAMILIES).flatMap(([family, count]) =>
  Array.from({ length: count }, (_, index) => `${family}${index + 1}`),
);

/** What gmn keeps of its compiled code, too, is written to the disk that is full or failing. */
function withFirstRun(fault: Fault): Fault {
  return { ...fault, variants: fault.variants.map((variant) => ({ ...variant, isFirstRun: true })) };
}
