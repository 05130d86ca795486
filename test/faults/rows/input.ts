import type { Fault } from '../fault.ts';

/** The rows I1 to I11. */
export const INPUT: readonly Fault[] = [
  { id: 'I1', what: 'binary stdin (ELF, PNG)', variants: [], open: 'not written yet' },
  { id: 'I2', what: '1 GB stdin', variants: [], open: 'not written yet' },
  { id: 'I3', what: 'invalid UTF-8 inside text', variants: [], open: 'not written yet' },
  { id: 'I4', what: 'BOM / UTF-16 stdin', variants: [], open: 'not written yet' },
  { id: 'I5', what: 'CRLF stdin and prompts', variants: [], open: 'not written yet' },
  { id: 'I6', what: 'stdin open but silent (no writer ends)', variants: [], open: 'not written yet' },
  { id: 'I7', what: 'stdin closed, /dev/null, a directory (< .)', variants: [], open: 'not written yet' },
  { id: 'I8', what: 'no prompt at all', variants: [], open: 'not written yet' },
  {
    id: 'I9',
    what: 'prompt of 10 MB as argument (E2BIG), prompt starting with -, empty prompt, only spaces',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'I10',
    what: '-f missing / directory / 2 GB / FIFO / unreadable / same twice / outside cwd',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'I11',
    what: 'flags: unknown, repeated, bad duration (-t 5x, -t 0, -t -1), bad format',
    variants: [],
    open: 'not written yet',
  },
];
