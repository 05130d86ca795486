import { OUTPUT_FORMATS } from '../../core/app.ts';
import { ENGINE_NAMES } from '../../core/confine.ts';
import { AUTH_TYPES } from '../../core/credential.ts';
import { THINKING_LEVELS } from '../../core/model.ts';
import { under } from './command.ts';
import { TOOL_NAMES } from './tools.ts';

/**
 * Flags of every command: they configure the program itself. `--help` and `--version` are handled before any command.
 */
export const APP_FLAGS = [
  {
    long: 'color',
    value: 'when',
    choices: ['auto', 'always', 'never'],
    fallback: 'auto',
    help: 'When to use colour (also NO_COLOR, FORCE_COLOR)',
  },
  { long: 'no-color', help: 'Same as --color never' },
  {
    long: 'cwd',
    short: 'C',
    otherNames: [{ long: 'cd', of: ['codex'] }],
    value: 'dir',
    help: 'Work as if started in this directory',
  },
  { long: 'debug', short: 'd', env: 'GMN_DEBUG', isOfficial: true, help: 'Trace requests to stderr, secrets removed' },
  { long: 'debug-file', value: 'path', env: 'GMN_LOG_FILE', help: 'Append that trace to a file instead' },
] as const;

export const QUIET_FLAG = { long: 'quiet', short: 'q', help: 'No spinner, no notices; errors stay' } as const;

export const JSON_FLAG = { long: 'json', heading: 'Output', help: 'Print as JSON' } as const;

export const REPORT_FLAGS = [JSON_FLAG, QUIET_FLAG, ...APP_FLAGS] as const;

export const AUTH_FLAG = {
  long: 'auth',
  value: 'type',
  suggestions: AUTH_TYPES,
  help: `Credential: ${AUTH_TYPES.join(', ')}`,
} as const;

export const BACKEND_FLAG = {
  long: 'backend',
  value: 'name',
  choices: ['gemini-api', 'code-assist', 'vertex'],
  help: 'Service to ask (default: the one the credential belongs to)',
} as const;

const REPLAY_FLAG = {
  long: 'replay',
  value: 'file',
  conflicts: ['--demo', '--auth', '--backend'],
  heading: 'Model',
  help: 'Answer from a recording: no account, no network (gmn help demo)',
} as const;

/** Of a replay; they mean nothing without one. */
export const MATCH_FLAG = {
  long: 'match',
  value: 'how',
  choices: ['strict', 'order', 'last-user'],
  fallback: 'strict',
  heading: 'Model',
  help: 'With --replay: the same request, the next one, or the same last words',
} as const;

export const IGNORE_FLAG = {
  long: 'ignore',
  value: 'what',
  repeatable: true,
  heading: 'Model',
  help: 'With --replay: differences that do not count: date, time, uuid, path, a field, or field:pattern',
} as const;

export const REPLAY_FLAGS = [REPLAY_FLAG, MATCH_FLAG, IGNORE_FLAG] as const;

export const MODEL_FLAGS = under('Model', [
  {
    long: 'model',
    short: 'm',
    value: 'id',
    env: 'GMN_MODEL',
    isSetting: true,
    fallback: 'gemini-2.5-flash',
    help: 'Model id or alias',
  },
  {
    long: 'timeout',
    short: 't',
    otherNames: [{ long: 'print-timeout', of: ['agy'] }],
    value: 'duration',
    kind: 'duration',
    env: 'GMN_TIMEOUT',
    fallback: '5m',
    help: 'Give up after this long, e.g. 90s, 10m; 0 = never',
  },
  AUTH_FLAG,
  BACKEND_FLAG,
  { long: 'demo', env: 'GMN_DEMO', help: 'Use the built-in offline model: no account, no network' },
  { long: 'retries', value: 'n', kind: 'integer', fallback: '3', help: 'How often a failed request is sent again' },
  {
    long: 'fallback',
    otherNames: [{ long: 'fallback-model', of: ['claude'] }],
    value: 'models',
    help: 'Ask these models, one after the other, when the quota is used up or the service overloaded; commas',
  },
  ...REPLAY_FLAGS,
  { long: 'no-fallback', help: 'Fail if the default model is retired, instead of asking its successor' },
]);

const [MODEL, TIMEOUT, , , DEMO, RETRIES] = MODEL_FLAGS;

/** Flags that every command accepts; a command they have no effect on says so. */
export const COMMON_FLAGS = [MODEL, TIMEOUT, ...APP_FLAGS, QUIET_FLAG, AUTH_FLAG, BACKEND_FLAG, DEMO] as const;

export const SERVER_FLAGS = under('Tools', [
  { long: 'mcp-config', value: 'file', conflicts: ['--no-mcp'], help: 'More MCP servers: a file with "mcpServers"' },
  {
    long: 'allowed-mcp-server-names',
    value: 'servers',
    repeatable: true,
    help: 'Use these MCP servers only; commas, or repeat',
  },
]);

export const FILE_FLAG = {
  long: 'file',
  short: 'f',
  otherNames: [{ long: 'image', of: ['codex'] }],
  value: 'path',
  repeatable: true,
  heading: 'Prompt and input',
  help: 'Add a file, directory or glob; text is inlined, media attached; repeat',
} as const;

export const SYSTEM_FLAGS = under('Prompt and input', [
  {
    long: 'system',
    aliases: ['system-prompt'],
    otherNames: [{ long: 'system-prompt-file', of: ['claude'], prefix: '@' }],
    value: 'text',
    help: 'System instruction for this run, or @file',
  },
  {
    long: 'append-system-prompt',
    otherNames: [{ long: 'append-system-prompt-file', of: ['claude'], prefix: '@' }],
    value: 'text',
    help: 'Add this to the system instruction, or @file',
  },
  { long: 'no-agent-prompt', needs: ['tools'], help: 'With tools: send no system prompt but your own' },
]);

/** In runs with these stdout is for programs. */
export const FOR_PROGRAMS = OUTPUT_FORMATS.filter((format) => format !== 'text').map((format) => `-o ${format}`);

/** In runs with these nothing is answered. */
export const PREVIEW = ['--dry-run', '--count-tokens'] as const;
export const COUNT = ['--count-tokens'] as const;

export const THINKING_FLAGS = under('Answer', [
  {
    long: 'thinking-level',
    otherNames: [
      {
        long: 'effort',
        of: ['claude'],
        values: { low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'xhigh' },
        alsoSets: { thinkingMatch: 'nearest' },
      },
      {
        long: 'thinking',
        of: ['pi'],
        values: { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh' },
        alsoSets: { thinkingMatch: 'nearest' },
      },
    ],
    value: 'level',
    choices: THINKING_LEVELS,
    hasNoEffectWith: COUNT,
    help: 'How hard the model thinks; checked against the model',
  },
  {
    long: 'show-thoughts',
    hasNoEffectWith: [...COUNT, '-o json', '--output-dialect gemini -o stream-json'],
    help: 'Show reasoning summaries: on stderr, or as thought events',
  },
]);

export const TOOL_SUGGESTIONS = ['none', 'read', 'edit', 'all', ...TOOL_NAMES] as const;

export const MAX_COST_FLAG = {
  long: 'max-cost',
  otherNames: [{ long: 'max-budget-usd', of: ['claude'] }],
  value: 'usd',
  kind: 'number',
  hasNoEffectWith: COUNT,
  heading: 'Tools',
  help: 'Spend at most this many dollars: answers get shorter, then it stops',
} as const;

export const APPROVAL_FLAGS = under('Tools', [
  {
    long: 'allowed-tools',
    otherNames: [{ long: 'allowedTools', of: ['claude'] }],
    value: 'names',
    suggestions: TOOL_NAMES,
    repeatable: true,
    isOfficial: true,
    needs: ['tools', 'template'],
    hasNoEffectWith: COUNT,
    help: 'Run these tools without asking; commas, or repeat',
  },
  {
    long: 'approval-mode',
    otherNames: [
      {
        long: 'permission-mode',
        of: ['claude'],
        values: { default: 'default', acceptEdits: 'auto_edit', plan: 'plan', bypassPermissions: 'yolo' },
      },
      { long: 'full-auto', of: ['codex'], fixedValue: 'auto_edit', alsoSets: { tools: 'edit' } },
    ],
    value: 'mode',
    choices: ['default', 'auto_edit', 'plan', 'yolo'],
    fallback: 'default',
    isOfficial: true,
    needs: ['tools', 'template'],
    help: 'Which tool calls ask first',
  },
  {
    long: 'yolo',
    short: 'y',
    otherNames: [
      { long: 'dangerously-skip-permissions', of: ['claude', 'agy'] },
      { long: 'dangerously-bypass-approvals-and-sandbox', of: ['codex'] },
    ],
    isOfficial: true,
    needs: ['tools', 'template'],
    conflicts: ['--approval-mode default', '--approval-mode auto_edit', '--approval-mode plan'],
    hasNoEffectWith: COUNT,
    help: 'Same as --approval-mode yolo: ask nothing',
  },
  {
    long: 'include-directories',
    otherNames: [{ long: 'add-dir', of: ['claude', 'codex', 'agy'] }],
    value: 'dirs',
    repeatable: true,
    isOfficial: true,
    needs: ['tools'],
    help: 'More directories the tools may use; commas, or repeat',
  },
  {
    long: 'max-turns',
    value: 'n',
    kind: 'integer',
    fallback: '100',
    needs: ['tools'],
    hasNoEffectWith: COUNT,
    help: 'Stop after this many model calls, sub-agents included',
  },
  MAX_COST_FLAG,
]);

export const SANDBOX_FLAGS = under('Tools', [
  {
    long: 'sandbox',
    short: 's',
    otherNames: [{ long: 'no-sandbox', of: ['gemini'], fixedValue: 'off' }],
    value: 'engine',
    preset: 'auto',
    choices: ['auto', ...ENGINE_NAMES, 'off'],
    // Of codex.
    refusedValues: ['read-only', 'workspace-write', 'danger-full-access'],
    wrongValueHint:
      'Without a value it is auto: commands write in the workspace only. To read only: --approval-mode plan. A prompt goes before it.',
    harmless: ['off'],
    isOfficial: true,
    needs: ['tools'],
    hasNoEffectWith: COUNT,
    help: 'Confine commands: the workspace writable, home hidden, no network; alone: the engine that works here',
  },
  {
    long: 'sandbox-net',
    value: 'hosts',
    suggestions: ['all'],
    needs: ['tools'],
    hasNoEffectWith: COUNT,
    help: 'Let confined commands reach these hosts, or all; commas',
  },
  {
    long: 'sandbox-ask',
    needs: ['tools'],
    hasNoEffectWith: COUNT,
    help: 'Ask about confined commands in auto_edit, too',
  },
]);

export const SESSION_FLAGS = under('Sessions', [
  {
    long: 'continue',
    short: 'c',
    otherNames: [{ long: 'last', of: ['codex'] }],
    help: 'Continue the newest session of this directory',
  },
  {
    long: 'resume',
    short: 'r',
    otherNames: [{ long: 'conversation', of: ['agy'] }],
    value: 'session',
    preset: '',
    help: 'Continue a session: last, its id or the beginning of it, its name, or its number in gmn sessions list; alone: choose from a list, in scripts the newest',
  },
  {
    long: 'fork',
    otherNames: [{ long: 'fork-session', of: ['claude'] }],
    hasNoEffectWith: COUNT,
    help: 'With -c or -r: continue in a copy, and leave the session as it is',
  },
  {
    long: 'session-name',
    otherNames: [{ long: 'name', short: 'n', of: ['claude'] }],
    value: 'name',
    hasNoEffectWith: COUNT,
    help: 'Name the new session, or the copy',
  },
  {
    long: 'no-session',
    aliases: ['ephemeral'],
    otherNames: [{ long: 'no-session-persistence', of: ['claude'] }],
    env: 'GMN_NO_SESSION',
    help: 'Do not save the conversation',
  },
]);

export const STORE_FLAG = {
  long: 'store',
  hasNoEffectWith: COUNT,
  heading: 'Answer',
  help: 'Let Google keep the request and its answer in the logs of your project',
} as const;

export const SERVICE_FLAGS = under('Answer', [
  { long: 'search', help: 'Let the model search the web with Google; its sources are listed after the answer' },
  { long: 'code', help: 'Let the service run Python that the model writes, on its own machines' },
  { long: 'url', help: 'Let the service read the web pages that the prompt names' },
  {
    long: 'service-tier',
    value: 'tier',
    choices: ['flex', 'priority'],
    hasNoEffectWith: COUNT,
    help: 'flex: cheaper, may take minutes; priority: costs more, served first',
  },
  STORE_FLAG,
]);

export const PICTURES_FLAG = {
  long: 'pictures',
  value: 'how',
  choices: ['auto', 'kitty', 'iterm2', 'never'],
  env: 'GMN_PICTURES',
  fallback: 'auto',
  hasNoEffectWith: [...PREVIEW, ...FOR_PROGRAMS],
  harmless: ['never'],
  heading: 'Output',
  help: 'How this terminal shows pictures (auto: if it is known to)',
} as const;

export const USAGE_FLAG = {
  long: 'usage',
  short: 'u',
  hasNoEffectWith: [...PREVIEW, ...FOR_PROGRAMS, '--quiet'],
  heading: 'Output',
  help: 'One line of tokens, time and cost on stderr at the end',
} as const;

export const ENCODING_FLAG = {
  long: 'encoding',
  value: 'name',
  choices: ['utf-8', 'windows-1252', 'shift_jis'],
  fallback: 'utf-8',
  heading: 'Prompt and input',
  help: 'How the input is written, if it is not in UTF-8',
} as const;

/** The flags of `gmn embed`, besides those it shares with other commands. */
export const EMBED_FLAGS = [
  {
    long: 'model',
    short: 'm',
    value: 'id',
    fallback: 'gemini-embedding-001',
    help: 'A model that makes vectors',
  },
  {
    long: 'task-type',
    value: 'task',
    suggestions: [
      'semantic-similarity',
      'classification',
      'clustering',
      'retrieval-document',
      'retrieval-query',
      'code-retrieval-query',
      'question-answering',
      'fact-verification',
    ],
    help: 'What the vectors are for, e.g. retrieval-document',
  },
  { long: 'dimensions', value: 'n', kind: 'integer', help: "Length of each vector (default: the model's)" },
  { long: 'whole', conflicts: ['--column', '--similar'], help: 'One vector for each file, not for each line' },
  {
    long: 'column',
    value: 'name',
    conflicts: ['--similar'],
    help: 'One vector for each row of a CSV, TSV or JSON lines: of this column, with the id of the row',
  },
  { ...ENCODING_FLAG, help: 'With --column: how the input is written, if it is not in UTF-8' },
  { long: 'no-text', conflicts: ['--similar'], help: 'Leave the texts out of the output' },
  {
    long: 'similar',
    value: 'text',
    help: 'Make no vectors of the input: it has some, of which those nearest to this text are printed, best first',
  },
  { long: 'top', value: 'n', kind: 'integer', fallback: '10', help: 'With --similar: how many' },
  {
    long: 'output-format',
    short: 'o',
    value: 'format',
    choices: ['text', 'json'],
    fallback: 'text',
    help: 'With --similar: json has every field of the lines',
  },
  { ...MAX_COST_FLAG, help: 'Spend at most this many dollars, then stop' },
  USAGE_FLAG,
  { ...TIMEOUT, help: 'Give up a request after this long, e.g. 90s, 10m; 0 = never' },
  DEMO,
  ...REPLAY_FLAGS,
  RETRIES,
] as const;
