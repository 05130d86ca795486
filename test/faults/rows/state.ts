import type { Fault } from '../fault.ts';

/** The rows J1 to J22. */
export const STATE: readonly Fault[] = [
  { id: 'J1', what: 'every state file: empty', variants: [], open: 'not written yet' },
  { id: 'J2', what: 'every state file: an open brace alone', variants: [], open: 'not written yet' },
  { id: 'J3', what: 'every state file: the first half', variants: [], open: 'not written yet' },
  { id: 'J4', what: 'every state file: null', variants: [], open: 'not written yet' },
  { id: 'J5', what: 'every state file: []', variants: [], open: 'not written yet' },
  { id: 'J6', what: 'every state file: a string', variants: [], open: 'not written yet' },
  { id: 'J7', what: 'every state file: a number', variants: [], open: 'not written yet' },
  { id: 'J8', what: 'every state file: keys of the wrong type', variants: [], open: 'not written yet' },
  { id: 'J9', what: 'every state file: duplicate keys', variants: [], open: 'not written yet' },
  { id: 'J10', what: 'every state file: a BOM', variants: [], open: 'not written yet' },
  { id: 'J11', what: 'every state file: CRLF', variants: [], open: 'not written yet' },
  { id: 'J12', what: 'every state file: comments and a trailing comma', variants: [], open: 'not written yet' },
  { id: 'J13', what: 'every state file: NUL bytes', variants: [], open: 'not written yet' },
  { id: 'J14', what: 'every state file: invalid UTF-8', variants: [], open: 'not written yet' },
  { id: 'J15', what: 'every state file: 100 MB', variants: [], open: 'not written yet' },
  { id: 'J16', what: 'every state file: a directory in its place', variants: [], open: 'not written yet' },
  { id: 'J17', what: 'every state file: a FIFO in its place', variants: [], open: 'not written yet' },
  { id: 'J18', what: 'every state file: a dangling link', variants: [], open: 'not written yet' },
  { id: 'J19', what: 'every state file: __proto__ keys', variants: [], open: 'not written yet' },
  {
    id: 'J20',
    what: 'encrypted official store (gemini-credentials.json: three hex fields) from another host name',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'J21',
    what: 'expiry_date missing, string, seconds, year 9999, negative',
    variants: [],
    open: 'not written yet',
  },
  { id: 'J22', what: 'keychain/secret service hangs', variants: [], open: 'not written yet' },
];
