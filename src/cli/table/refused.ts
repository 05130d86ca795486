import type { Program } from '../../core/flag.ts';
import type { IgnoredFlag, RefusedFlag } from './command.ts';

const LEAVE_OUT = 'Leave it out.';
const NO_EXTENSIONS = {
  why: 'gmn uses all extensions that are installed and enabled',
  hint: 'To turn one off: gmn config set extensions.disabled <name>; gmn doctor lists them',
} as const;
const NO_POLICIES = {
  why: 'gmn reads policies from their places, and from those that the settings name',
  hint: 'gmn config set policyPaths <path>, or adminPolicyPaths; gmn permissions list shows what they deny',
} as const;
const NO_RECORDINGS = {
  why: 'gmn records in a format of its own',
  hint: 'GMN_RECORD=<file> records, --replay <file> replays; a file of the official CLI: gmn demo serve --script <file>',
} as const;

/** Of the official CLI 0.61. */
const OF_GEMINI: readonly RefusedFlag[] = [
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
  {
    long: 'experimental-acp',
    isOfficial: true,
    why: 'the official CLI itself calls it --acp by now',
    hint: 'Use gmn acp',
  },
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
  {
    long: 'all-files',
    of: ['gemini'],
    why: 'gmn attaches no files that are not named',
    hint: 'To attach a directory: gmn -f . "…"; to let the model look around: gmn --tools read "…"',
  },
  { long: 'fake-responses', value: 'file', ...NO_RECORDINGS },
  { long: 'fake-responses-non-strict', value: 'file', ...NO_RECORDINGS },
  { long: 'record-responses', value: 'file', ...NO_RECORDINGS },
];

const ONE_PROVIDER = { why: 'gmn asks Gemini only', hint: 'To choose a model: gmn models' } as const;
const NO_PLUGINS = {
  why: 'gmn has no plugins',
  hint: 'It uses skills, hooks, sub-agents and extensions where they are: gmn help extending',
} as const;
const NO_SUBAGENTS = {
  why: 'sub-agents are files here',
  hint: 'In ~/.gemini/agents or .gemini/agents; to ask one: gmn --tools read "@<name> …"',
} as const;
const NO_SCREEN = { why: 'gmn works in the terminal only', hint: LEAVE_OUT } as const;
const IN_SETTINGS = {
  why: 'settings of one run are flags here',
  hint: 'For example -m, --tools, --thinking-level (gmn help flags); for all runs: gmn config set <key> <value>',
} as const;
const STREAMED = ['-o stream-json'];

/** Of Claude Code 2.1.327. */
const OF_CLAUDE = ofProgram('claude', [
  {
    long: 'include-partial-messages',
    why: 'only -o stream-json has pieces, and always',
    hint: 'Add -o stream-json, or leave it out.',
    unless: STREAMED,
  },
  {
    long: 'disallowed-tools',
    aliases: ['disallowedTools'],
    value: 'names',
    why: 'the tools of a run are named, not excluded',
    hint: 'Name them with --tools, e.g. --tools read; for all runs: gmn config set tools.exclude <names>',
  },
  {
    long: 'allow-dangerously-skip-permissions',
    why: 'gmn asks unless --yolo says otherwise',
    hint: 'Use --yolo, or leave it out.',
  },
  {
    long: 'permission-prompt-tool',
    value: 'tool',
    why: 'gmn asks a person, or nobody',
    hint: 'What runs without asking: --approval-mode, --allowed-tools',
  },
  {
    long: 'strict-mcp-config',
    why: 'the servers of --mcp-config join those of the settings',
    hint: 'To use some only: --allowed-mcp-server-names <names>',
  },
  { long: 'mcp-debug', why: 'gmn has one trace', hint: 'Use --debug.' },
  { long: 'settings', value: 'file', ...IN_SETTINGS },
  {
    long: 'setting-sources',
    value: 'sources',
    why: 'gmn reads all its settings',
    hint: 'A directory of its own: GMN_HOME=<dir>, GEMINI_CLI_HOME=<dir>',
  },
  { long: 'agent', value: 'name', ...NO_SUBAGENTS },
  { long: 'agents', value: 'json', ...NO_SUBAGENTS },
  { long: 'plugin-dir', value: 'dir', ...NO_PLUGINS },
  { long: 'ide', why: 'gmn connects to no editor', hint: 'To attach a file: -f <path>, or @path in the prompt' },
  { long: 'chrome', ...NO_SCREEN },
  { long: 'tmux', ...NO_SCREEN },
  { long: 'remote', ...NO_SCREEN },
  { long: 'teammate-mode', value: 'mode', ...NO_SUBAGENTS },
  { long: 'from-pr', value: 'pr', why: 'gmn knows no pull requests', hint: 'Pipe it in: gh pr diff <n> | gmn "…"' },
  { long: 'betas', value: 'names', ...ONE_PROVIDER },
  { long: 'bare', why: 'gmn loads nothing that is not asked for', hint: LEAVE_OUT },
  {
    long: 'brief',
    why: 'gmn has one way to show an answer',
    hint: 'For the model: --append-system-prompt "Be brief."',
  },
  { long: 'disable-slash-commands', why: 'only a prompt that begins with / is a command', hint: LEAVE_OUT },
  { long: 'replay-user-messages', why: 'gmn prints no prompts', hint: LEAVE_OUT },
  {
    long: 'background',
    aliases: ['bg'],
    why: 'a prompt runs in the foreground',
    hint: 'Many prompts: gmn batch; long research: gmn research; both can be ended and resumed',
  },
  {
    long: 'autocompact',
    value: 'tokens',
    why: 'a share of the window decides when a conversation is compacted',
    hint: 'To change it: gmn config set model.compressionThreshold 0.7',
  },
  {
    long: 'exclude-dynamic-system-prompt-sections',
    why: "the directory and the date are part of gmn's own instruction",
    hint: 'To leave that out: --no-agent-prompt',
  },
  {
    long: 'permission-prompts',
    value: 'target',
    why: 'the program that runs gmn is asked only with --relay-approvals',
    hint: 'Use --relay-approvals with --input-format stream-json; without it nobody is asked',
  },
  {
    long: 'restricted',
    why: 'tools are named here',
    hint: 'Without commands: --tools read; without any tool: --tools none',
  },
  {
    long: 'safe-mode',
    why: 'gmn has no mode without your settings',
    hint: 'Set GMN_HOME and GEMINI_CLI_HOME to an empty directory for that run',
  },
  {
    long: 'system-prompt-snapshot',
    value: 'on|off',
    why: 'a session always keeps its instruction',
    hint: LEAVE_OUT,
  },
  { long: 'forward-subagent-text', why: 'only the answers of sub-agents are shown', hint: LEAVE_OUT },
  { long: 'prompt-suggestions', value: 'value', isOptional: true, why: 'gmn suggests no prompts', hint: LEAVE_OUT },
  { long: 'plugin-url', value: 'url', ...NO_PLUGINS },
  { long: 'cloud', value: 'session', isOptional: true, ...NO_SCREEN },
  { long: 'teleport', value: 'session', isOptional: true, ...NO_SCREEN },
  { long: 'environment', value: 'id', ...NO_SCREEN },
  { long: 'desktop', ...NO_SCREEN },
  { long: 'remote-control', value: 'name', isOptional: true, ...NO_SCREEN },
  { long: 'remote-control-session-name-prefix', value: 'prefix', ...NO_SCREEN },
  { long: 'include-hook-events', why: 'what hooks say is among the notices', hint: LEAVE_OUT },
]);

/** Of codex 0.169. */
const OF_CODEX = ofProgram('codex', [
  {
    long: 'ask-for-approval',
    value: 'policy',
    why: 'gmn has modes instead',
    hint: 'What runs without asking: --approval-mode default, auto_edit, plan or yolo; --sandbox confines commands',
  },
  { long: 'config', value: 'key=value', ...IN_SETTINGS },
  { long: 'enable', value: 'feature', ...IN_SETTINGS },
  { long: 'disable', value: 'feature', ...IN_SETTINGS },
  {
    long: 'profile',
    value: 'name',
    why: 'gmn has no profiles',
    hint: 'Settings of a project: .gemini/settings.json (gmn help config); another set: GMN_HOME=<dir>',
  },
  {
    long: 'approve-for-me',
    why: 'no model answers questions for you here',
    hint: 'What runs without asking: --approval-mode auto_edit, --allowed-tools',
  },
  { long: 'trust', why: 'trust is given by a command', hint: 'Run: gmn trust' },
  {
    long: 'dangerously-bypass-hook-trust',
    why: "a folder's hooks run only as gmn trust has shown them",
    hint: 'Run: gmn trust --yes',
  },
  {
    long: 'ignore-user-config',
    why: 'gmn reads all its settings',
    hint: 'A directory of its own: GMN_HOME=<dir>, GEMINI_CLI_HOME=<dir>',
  },
  { long: 'ignore-rules', why: 'what your settings and policies deny is always denied', hint: LEAVE_OUT },
  { long: 'strict-config', why: 'gmn names keys it does not know in one place', hint: 'Run: gmn doctor' },
  { long: 'thread-source', value: 'source', why: 'gmn knows by itself where a session comes from', hint: LEAVE_OUT },
  { long: 'cyber-access-program', value: 'program', ...ONE_PROVIDER },
  { long: 'remote-auth-token-env', value: 'name', ...NO_SCREEN },
  { long: 'oss', ...ONE_PROVIDER },
  { long: 'local-provider', value: 'name', ...ONE_PROVIDER },
]);

function ofProgram(program: Program, rows: readonly RefusedFlag[]): readonly RefusedFlag[] {
  return rows.map((row) => ({ ...row, of: [program] }));
}

const PRINT = { long: 'print', of: ['claude'] } as const;

/** Flags of other programs that gmn rejects: ignoring one would break what it promises. */
export const REFUSED_FLAGS: readonly RefusedFlag[] = [...OF_GEMINI, ...OF_CLAUDE, ...OF_CODEX];

export const REFUSED_IN_CHATS: readonly RefusedFlag[] = [
  ...REFUSED_FLAGS,
  { ...PRINT, why: 'a chat goes on', hint: 'For one answer: gmn "…"' },
];

/** Flags of other programs that a line may have here: what they ask for is so anyway. */
export const IGNORED_FLAGS: readonly IgnoredFlag[] = [
  { long: 'skip-git-repo-check', of: ['codex'], why: 'gmn needs no repository' },
  { long: 'no-daemon', of: ['codex'], why: 'gmn starts no server of its own' },
  { long: 'checkpointing', of: ['gemini'], why: 'what tools change can always be undone: gmn undo' },
  { long: 'no-alt-screen', of: ['codex'], why: 'gmn never leaves the screen' },
  { long: 'verbose', of: ['claude'], why: 'tool calls are shown anyway; the requests: --debug' },
  { long: 'no-chrome', of: ['claude'], why: 'gmn uses no browser' },
  { ...PRINT, why: 'a prompt has one answer anyway' },
];

export const IGNORED_IN_CHATS: readonly IgnoredFlag[] = IGNORED_FLAGS.filter(({ long }) => long !== PRINT.long);
