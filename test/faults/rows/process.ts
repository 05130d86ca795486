import type { Fault } from '../fault.ts';

/** The rows P1 to P24. */
export const PROCESS: readonly Fault[] = [
  { id: 'P1', what: 'SIGINT in a–g, one-shot', variants: [], open: 'not written yet' },
  { id: 'P2', what: 'SIGTERM, SIGHUP in a–g', variants: [], open: 'not written yet' },
  { id: 'P3', what: 'SIGINT in chat, g/h/i/j', variants: [], open: 'not written yet' },
  { id: 'P4', what: 'SIGINT at l', variants: [], open: 'not written yet' },
  { id: 'P5', what: 'two SIGINT within 1 s in any phase', variants: [], open: 'not written yet' },
  { id: 'P6', what: 'SIGINT/SIGTERM at k, m', variants: [], open: 'not written yet' },
  { id: 'P7', what: 'kill -9 at 200 random instants of a 20-turn chat', variants: [], open: 'not written yet' },
  { id: 'P8', what: 'kill -9 at each storage system call', variants: [], open: 'not written yet' },
  { id: 'P9', what: 'kill -9 while holding the refresh lock', variants: [], open: 'not written yet' },
  { id: 'P10', what: 'stdout reader goes away (| head -1)', variants: [], open: 'not written yet' },
  { id: 'P11', what: 'stderr closed, stdin closed (<&-, 2>&-, >&-)', variants: [], open: 'not written yet' },
  { id: 'P12', what: 'stdout pipe full for 10 min (reader sleeps)', variants: [], open: 'not written yet' },
  { id: 'P13', what: '> 64 KiB json on a pipe', variants: [], open: 'not written yet' },
  { id: 'P14', what: 'SIGTSTP / SIGCONT at g and l', variants: [], open: 'not written yet' },
  { id: 'P15', what: 'SIGWINCH storm', variants: [], open: 'not written yet' },
  { id: 'P16', what: 'terminal disappears (SSH drop)', variants: [], open: 'not written yet' },
  { id: 'P17', what: 'TTY left usable after every exit path', variants: [], open: 'not written yet' },
  { id: 'P18', what: 'uncaught exception / unhandled rejection', variants: [], open: 'not written yet' },
  { id: 'P19', what: 'out of memory', variants: [], open: 'not written yet' },
  { id: 'P20', what: 'fork failure (EAGAIN)', variants: [], open: 'not written yet' },
  {
    id: 'P21',
    what: 'shell child: ignores SIGTERM, daemonises (setsid), forks 200, writes 1 GB, waits on stdin, changes tty modes',
    variants: [],
    open: 'not written yet',
  },
  { id: 'P22', what: 'cwd deleted while running', variants: [], open: 'not written yet' },
  { id: 'P23', what: 'TERM=dumb, no TERM, 1-column window, NO_COLOR, CI=1', variants: [], open: 'not written yet' },
  { id: 'P24', what: 'suspended laptop (clock jump +8 h mid-stream)', variants: [], open: 'not written yet' },
];
