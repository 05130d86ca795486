import type { Fault } from '../fault.ts';

/** The rows V1 to V10. */
export const MCP_SERVER: readonly Fault[] = [
  {
    id: 'V1',
    what: 'client sends garbage, 20 MB line, batch, unknown method, wrong types, initialize twice, requests before initialize',
    variants: [],
    open: 'not written yet',
  },
  { id: 'V2', what: 'client closes stdin with jobs running', variants: [], open: 'not written yet' },
  { id: 'V3', what: 'server killed -9 with 10 running jobs', variants: [], open: 'not written yet' },
  {
    id: 'V4',
    what: 'result asked before done / twice / after 24 h / after restart / unknown id',
    variants: [],
    open: 'not written yet',
  },
  { id: 'V5', what: 'cancel queued / running / finished / twice', variants: [], open: 'not written yet' },
  { id: 'V6', what: 'timeout_ms reached', variants: [], open: 'not written yet' },
  { id: 'V7', what: 'client stops reading stdout', variants: [], open: 'not written yet' },
  { id: 'V8', what: 'two jobs on the same session id', variants: [], open: 'not written yet' },
  { id: 'V9', what: 'disk full while storing output', variants: [], open: 'not written yet' },
  { id: 'V10', what: 'parent dies (reparented to 1)', variants: [], open: 'not written yet' },
];
