/** A flag of the official CLI that gmn could only pretend to support. */
export interface RefusedFlag {
  /** In commander's syntax. */
  readonly names: string;
  readonly why: string;
  readonly hint: string;
}

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
    names: '-s, --sandbox',
    why: 'gmn has no sandbox',
    hint: 'Its tools stay in the working directory and ask first (gmn help tools); for more, run gmn in a container.',
  },
  { names: '--policy <path>', ...NO_POLICIES },
  { names: '--admin-policy <path>', ...NO_POLICIES },
  {
    names: '-w, --worktree [name]',
    why: 'gmn makes no worktrees',
    hint: 'Make one yourself, then: gmn -C <dir> "…"',
  },
  { names: '--acp', ...NO_ACP },
  { names: '--experimental-acp', ...NO_ACP },
  { names: '-e, --extensions <names>', ...NO_EXTENSIONS },
  { names: '-l, --list-extensions', ...NO_EXTENSIONS },
  {
    names: '--session-file <path>',
    why: 'gmn reads no session from a file',
    hint: "Copy one of the official CLI's first: gmn sessions import --help",
  },
  {
    names: '--skip-trust',
    why: 'gmn trusts no folder for one run only',
    hint: 'To trust this folder: gmn trust',
  },
  { names: '--accept-raw-output-risk', why: '--raw-output needs no second flag', hint: LEAVE_OUT },
  { names: '--ignore-env', why: "gmn never reads a project's .env", hint: LEAVE_OUT },
  { names: '--fake-responses <file>', ...NO_RECORDINGS },
  { names: '--fake-responses-non-strict <file>', ...NO_RECORDINGS },
  { names: '--record-responses <file>', ...NO_RECORDINGS },
];

/**
 * The switches of the official CLI, which accepts a value for each: `--sandbox=false`, `--no-sandbox`, `--yolo=true`.
 * Turned off they have no effect, the rejected ones included.
 */
export const OFFICIAL_SWITCHES = [
  'sandbox',
  'yolo',
  'debug',
  'raw-output',
  'screen-reader',
  'list-sessions',
  'skip-trust',
  'accept-raw-output-risk',
  'acp',
  'experimental-acp',
  'list-extensions',
] as const;
