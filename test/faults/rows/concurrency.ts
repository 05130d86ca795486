import type { Fault } from '../fault.ts';

/** The rows C1 to C12. */
export const CONCURRENCY: readonly Fault[] = [
  { id: 'C1', what: '100 processes, expired token, rotating refresh tokens', variants: [], open: 'not written yet' },
  {
    id: 'C2',
    what: 'same + a simulated official CLI writing by truncation 900×/s',
    variants: [],
    open: 'not written yet',
  },
  { id: 'C3', what: 'lock holder hangs (SIGSTOP)', variants: [], open: 'not written yet' },
  { id: 'C4', what: 'two chats started in the same millisecond', variants: [], open: 'not written yet' },
  { id: 'C5', what: 'two chats resume the same session', variants: [], open: 'not written yet' },
  { id: 'C6', what: 'chat saving while gmn sessions/-r last lists', variants: [], open: 'not written yet' },
  { id: 'C7', what: '8 writers append to one file anyway', variants: [], open: 'not written yet' },
  { id: 'C8', what: 'two gmn update user config / trust at once', variants: [], open: 'not written yet' },
  { id: 'C9', what: 'model edits a file the user is editing', variants: [], open: 'not written yet' },
  { id: 'C10', what: 'parallel tool calls write the same file', variants: [], open: 'not written yet' },
  { id: 'C11', what: 'MCP server process used by two gmn', variants: [], open: 'not written yet' },
  { id: 'C12', what: 'upgrade while running (binary replaced)', variants: [], open: 'not written yet' },
];
