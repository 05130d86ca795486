import type { RefusedFlag } from './command.ts';

const LEAVE_OUT = 'Leave it out.';
const NO_EXTENSIONS = {
  why: 'gmn has no extensions',
  hint: 'The MCP servers of one can be used: gmn mcp add --help',
} as const;
const NO_POLICIES = {
  why: 'gmn reads no policy files',
  hint: 'What may run is decided by --tools, --allowed-tools and --approval-mode: gmn help tools',
} as const;
const NO_ACP = {
  why: 'gmn does not speak the Agent Client Protocol',
  hint: 'Other programs use it through MCP: gmn mcp serve',
} as const;
const NO_RECORDINGS = {
  why: 'gmn itself neither records nor replays',
  hint: 'A server replays such a file: gmn demo serve --script <file>',
} as const;

/** Flags of the official CLI 0.61 that gmn rejects: ignoring one would break what it promises. */
export const REFUSED_FLAGS: readonly RefusedFlag[] = [
  {
    long: 'sandbox',
    short: 's',
    isOfficial: true,
    why: 'gmn has no sandbox',
    hint: 'Its tools stay in the working directory and ask first (gmn help tools); for more, run gmn in a container.',
  },
  { long: 'policy', value: 'path', ...NO_POLICIES },
  { long: 'admin-policy', value: 'path', ...NO_POLICIES },
  {
    long: 'worktree',
    short: 'w',
    value: 'name',
    isOptional: true,
    why: 'gmn makes no worktrees',
    hint: 'Make one yourself, then: gmn -C <dir> "…"',
  },
  { long: 'acp', isOfficial: true, ...NO_ACP },
  { long: 'experimental-acp', isOfficial: true, ...NO_ACP },
  { long: 'extensions', short: 'e', value: 'names', ...NO_EXTENSIONS },
  { long: 'list-extensions', short: 'l', isOfficial: true, ...NO_EXTENSIONS },
  {
    long: 'session-file',
    value: 'path',
    why: 'gmn reads no session from a file',
    hint: "Copy one of the official CLI's first: gmn sessions import --help",
  },
  {
    long: 'skip-trust',
    isOfficial: true,
    why: 'gmn trusts no folder for one run only',
    hint: 'To trust this folder: gmn trust',
  },
  {
    long: 'accept-raw-output-risk',
    isOfficial: true,
    why: '--raw-output needs no second flag',
    hint: LEAVE_OUT,
  },
  // The official CLI looks for the bare word only.
  { long: 'ignore-env', why: "gmn never reads a project's .env", hint: LEAVE_OUT },
  { long: 'fake-responses', value: 'file', ...NO_RECORDINGS },
  { long: 'fake-responses-non-strict', value: 'file', ...NO_RECORDINGS },
  { long: 'record-responses', value: 'file', ...NO_RECORDINGS },
];
