import type { Fault } from '../fault.ts';

/** The rows W1 to W9. */
export const WORKSPACE: readonly Fault[] = [
  { id: 'W1', what: 'directory with 100,000 files', variants: [], open: 'not written yet' },
  { id: 'W2', what: 'tree of 1 M files, depth 2,000, 4,096-byte paths', variants: [], open: 'not written yet' },
  { id: 'W3', what: 'symlink loops, self links, 41-deep chains', variants: [], open: 'not written yet' },
  { id: 'W4', what: 'FIFO/socket/device, unreadable dirs, names with \n', variants: [], open: 'not written yet' },
  { id: 'W5', what: '2 GB single file, one 500 MB line, sparse 1 TB', variants: [], open: 'not written yet' },
  { id: 'W6', what: 'file changes while being read, is deleted, is truncated', variants: [], open: 'not written yet' },
  {
    id: 'W7',
    what: '.gitignore bombs (10 MB, pathological patterns), missing, negations',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'W8',
    what: 'encodings: Latin-1, Shift-JIS, UTF-16LE/BE ± BOM, UTF-32, mixed',
    variants: [],
    open: 'not written yet',
  },
  { id: 'W9', what: 'case-insensitive or NFD file system', variants: [], open: 'not written yet' },
];
