/** What goes along with a prompt. */
export const FILE_FLAG = {
  long: 'file',
  short: 'f',
  value: 'path',
  repeatable: true,
  help: 'Add a file, directory or glob; text is inlined, media attached; repeat',
} as const;

export const SYSTEM_FLAGS = [
  { long: 'system', aliases: ['system-prompt'], value: 'text', help: 'System instruction for this run, or @file' },
  { long: 'append-system-prompt', value: 'text', help: 'Add this to the system instruction, or @file' },
] as const;

export const THINKING_FLAGS = [
  {
    long: 'thinking-level',
    value: 'level',
    choices: ['minimal', 'low', 'medium', 'high'],
    help: 'How hard the model thinks; checked against the model',
  },
  { long: 'show-thoughts', help: 'Show reasoning summaries: on stderr, or as thought events' },
] as const;

/** A test holds them to what there is. */
const TOOL_NAMES = [
  'list_directory',
  'read_file',
  'write_file',
  'edit_file',
  'glob',
  'search_file_content',
  'run_shell_command',
  'web_fetch',
  'google_web_search',
] as const;

/** What `--tools` takes. */
export const TOOL_SUGGESTIONS = ['none', 'read', 'edit', 'all', ...TOOL_NAMES] as const;

/** How far the model's tools may go; which there are, `--tools` says. */
export const APPROVAL_FLAGS = [
  {
    long: 'approval-mode',
    value: 'mode',
    choices: ['default', 'auto_edit', 'plan', 'yolo'],
    fallback: 'default',
    help: 'Which tool calls ask first',
  },
  { long: 'yolo', short: 'y', help: 'Same as --approval-mode yolo: ask nothing' },
  {
    long: 'allowed-tools',
    value: 'names',
    suggestions: TOOL_NAMES,
    repeatable: true,
    help: 'Run these tools without asking; commas, or repeat',
  },
  {
    long: 'include-directories',
    value: 'dirs',
    repeatable: true,
    help: 'More directories the tools may use; commas, or repeat',
  },
  { long: 'max-turns', value: 'n', kind: 'integer', fallback: '25', help: 'Stop after so many model calls' },
] as const;

/** Which session a conversation belongs to. */
export const SESSION_FLAGS = [
  { long: 'continue', short: 'c', help: 'Go on with the newest session of this directory' },
  {
    long: 'resume',
    short: 'r',
    value: 'session',
    preset: 'last',
    help: 'Go on with a session: last, which is meant if none is named, its id or the beginning of it, its name, or its number in gmn sessions list',
  },
  { long: 'fork', help: 'With -c or -r: go on with a copy, and leave the session as it is' },
  { long: 'session-name', value: 'name', help: 'Name the new session, or the copy' },
  { long: 'no-session', aliases: ['ephemeral'], env: 'GMN_NO_SESSION', help: 'Save nothing of it' },
] as const;
