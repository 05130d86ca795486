import type { Fault } from '../fault.ts';

/** The rows D1 to D17. */
export const DISK: readonly Fault[] = [
  { id: 'D1', what: 'ENOSPC on session append', variants: [], open: 'not written yet' },
  { id: 'D2', what: 'ENOSPC on token store', variants: [], open: 'not written yet' },
  { id: 'D3', what: 'ENOSPC on write_file', variants: [], open: 'not written yet' },
  { id: 'D4', what: 'ENOSPC on stdout', variants: [], open: 'not written yet' },
  {
    id: 'D5',
    what: 'EACCES on ~/.gmn (0500), on ~/.gemini (0000), on a session (0400), on cwd',
    variants: [],
    open: 'not written yet',
  },
  { id: 'D6', what: 'EROFS home', variants: [], open: 'not written yet' },
  { id: 'D7', what: 'home missing / not a directory / HOME unset / HOME=', variants: [], open: 'not written yet' },
  { id: 'D8', what: 'EIO on read/write/fsync/rename/close, each once', variants: [], open: 'not written yet' },
  { id: 'D9', what: 'EMFILE/ENFILE', variants: [], open: 'not written yet' },
  { id: 'D10', what: 'EFBIG (ulimit -f)', variants: [], open: 'not written yet' },
  { id: 'D11', what: 'EXDEV: target directory on another device than temp', variants: [], open: 'not written yet' },
  { id: 'D12', what: 'NFS-like: ESTALE, no O_EXCL guarantee', variants: [], open: 'not written yet' },
  {
    id: 'D13',
    what: 'file replaced by a directory, FIFO, socket, device for each state file',
    variants: [],
    open: 'not written yet',
  },
  { id: 'D14', what: 'inode exhaustion', variants: [], open: 'not written yet' },
  { id: 'D15', what: 'rename onto an immutable file', variants: [], open: 'not written yet' },
  { id: 'D16', what: 'leftover temp and lock files of a dead process', variants: [], open: 'not written yet' },
  { id: 'D17', what: 'session directory with 10,000 sessions, one 500 MB', variants: [], open: 'not written yet' },
];
