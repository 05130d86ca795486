import type { Fault } from '../fault.ts';

/** The rows M1 to M15. */
export const MCP_CLIENT: readonly Fault[] = [
  { id: 'M1', what: 'server never answers initialize', variants: [], open: 'not written yet' },
  { id: 'M2', what: 'never answers tools/call', variants: [], open: 'not written yet' },
  {
    id: 'M3',
    what: 'dies before / during / after the answer, exit 0 / 1 / SIGSEGV',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M4',
    what: 'floods stderr 1 GB; floods stdout with non-JSON; ANSI on stderr',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M5',
    what: 'writes JSON split at any byte, CRLF, several per chunk, 16 MB line, blank lines, BOM',
    variants: [],
    open: 'not written yet',
  },
  { id: 'M6', what: 'stops reading stdin', variants: [], open: 'not written yet' },
  {
    id: 'M7',
    what: '10,000 tools; 64+ pages; cursor loops for ever; page of 50 MB',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M8',
    what: 'invalid schema: not object, cyclic $ref, depth 1,000, pattern bomb, enum of 1e6, boolean schema, no properties',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M9',
    what: 'duplicate ids, unknown ids, id as string "1" vs 1, null id, answer twice, answer to a notification',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M10',
    what: 'huge result (100 MB text, 50 MB base64 image, 10,000 content items), wrong types, isError with no content',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M11',
    what: 'HTTP/SSE: 401, 404 session, 405, 202 without body, redirect, stream cut, retry: 0 and 1e9, event with no id, gzip',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M12',
    what: 'protocol version unknown / older / missing; server says 2026-07-28 only',
    variants: [],
    open: 'not written yet',
  },
  { id: 'M13', what: 'list_changed storm (1,000/s), progress storm, log storm', variants: [], open: 'not written yet' },
  {
    id: 'M14',
    what: 'server exits when gmn exits? ignores stdin EOF and SIGTERM; launched through npx/sh',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'M15',
    what: 'command not found / not executable / is a directory / cwd missing',
    variants: [],
    open: 'not written yet',
  },
];
