import { type Command, command } from './command.ts';
import {
  APP_FLAGS,
  AUTH_FLAG,
  BACKEND_FLAG,
  JSON_FLAG,
  MAX_COST_FLAG,
  MODEL_FLAGS,
  QUIET_FLAG,
  REPORT_FLAGS,
  SANDBOX_FLAGS,
  SERVER_FLAGS,
  STORE_FLAG,
} from './flags.ts';

const [MODEL_FLAG, , , , DEMO_FLAG] = MODEL_FLAGS;

const load = () => import('../../commands/mcp/serve.ts');

const [SANDBOX_FLAG, SANDBOX_NET_FLAG] = SANDBOX_FLAGS;

const SERVED_SANDBOX_FLAGS = [
  { ...SANDBOX_FLAG, help: 'With --allow-shell: confine the commands; alone: the engine that works here' },
  SANDBOX_NET_FLAG,
] as const;

const FLAGS = [
  {
    long: 'http',
    value: 'port',
    kind: 'integer',
    isOptional: true,
    help: 'Serve Streamable HTTP on 127.0.0.1 instead, on this port or a free one; clients need a token',
  },
  {
    long: 'token-file',
    value: 'path',
    help: 'With --http: keep the token in this file (also GMN_MCP_TOKEN); otherwise one is generated and shown',
  },
  { long: 'tools', value: 'groups', fallback: 'chat,genai,delegate', help: 'Which groups of tools to offer' },
  {
    long: 'root',
    value: 'dir',
    repeatable: true,
    fallback: 'the start directory, unless that is / or your home',
    help: 'A directory that callers may name; repeat',
  },
  { long: 'allow-write', help: 'Let Gemini write files inside the roots' },
  { long: 'allow-shell', help: 'Let Gemini run commands' },
  ...SERVED_SANDBOX_FLAGS,
  { long: 'show-session', help: "Put the id of a chat's session into its text, for hosts that hide _meta" },
  { long: 'max-running', value: 'n', kind: 'integer', fallback: '4', help: 'Delegated jobs at once' },
  { long: 'max-queued', value: 'n', kind: 'integer', fallback: '100', help: 'Delegated jobs that may wait' },
  { long: 'server-name', value: 'name', fallback: 'gmn', help: 'The name shown to clients' },
  { long: 'server-version', value: 'version', fallback: "gmn's own", help: 'The version shown to clients' },
  {
    long: 'timeout',
    short: 't',
    value: 'duration',
    kind: 'duration',
    help: 'Has no effect here: every call has a limit of its own',
  },
  { ...MAX_COST_FLAG, help: 'Spend at most this many dollars, all calls together; later calls are refused' },
  {
    ...MODEL_FLAG,
    fallback: "gmn's; of generate_text, analyze_image and count_tokens the successor of gemini-3-pro-preview",
  },
  AUTH_FLAG,
  BACKEND_FLAG,
  DEMO_FLAG,
  STORE_FLAG,
  ...APP_FLAGS,
] as const;

const MCP_SERVE: Command = command({
  name: 'serve',
  summary: 'Be an MCP server: other agents ask Gemini and delegate work to it',
  flags: FLAGS,
  examples: [
    ['claude mcp add gemini -- gmn mcp serve', 'for Claude Code; other hosts: gmn help mcp-server'],
    ['gmn mcp serve --root ~/work --allow-write', 'Gemini may change files there'],
    ['gmn mcp serve --http 7333 --token-file token', 'for several clients'],
  ],
  load,
});

/** The same under the name that other servers use. */
export const MCP_SERVER: Command = command({
  name: 'mcp-server',
  summary: 'Same as gmn mcp serve',
  flags: FLAGS,
  load,
});

const INSPECT_FLAGS = [...SERVER_FLAGS, JSON_FLAG, QUIET_FLAG, ...APP_FLAGS] as const;

const TIMEOUT_FLAG = {
  long: 'timeout',
  short: 't',
  value: 'duration',
  kind: 'duration',
  help: "Give up after this long without an answer (default: the server's timeout); 0 = never",
} as const;

const OUTPUT_FILE_FLAG = {
  long: 'output-file',
  value: 'path',
  help: 'Save content that is not text, such as a picture, to this file',
} as const;

const SCOPE_FLAG = {
  long: 'scope',
  short: 's',
  value: 'scope',
  choices: ['user', 'project', 'gmn'],
  help: 'Which file: user = ~/.gemini/settings.json, project = ./.gemini/settings.json, gmn = ~/.gmn/config.json',
} as const;

const TRANSPORT_FLAGS = [
  {
    long: 'transport',
    short: 't',
    value: 'kind',
    choices: ['stdio', 'http', 'sse'],
    help: 'How to talk to it (default: stdio for a command, http for an address)',
  },
  { long: 'env', short: 'e', value: 'K=V', repeatable: true, help: 'A variable for the program; repeat' },
  { long: 'oauth', value: 'json', help: 'How to sign in there: "oauth" of the settings as JSON, or @file' },
  { long: 'header', short: 'H', value: 'K: V', repeatable: true, help: 'A header for the address; repeat' },
] as const;

const isAddress = (word: string | undefined): boolean => /^https?:\/\//i.test(word ?? '');

export const MCP = command({
  name: 'mcp',
  summary: 'MCP servers: list and change them, see what they offer, call their tools',
  flags: APP_FLAGS,
  defaultSubcommand: 'list',
  examples: [
    ['gmn mcp add files npx -y @modelcontextprotocol/server-filesystem .', 'a program'],
    ['gmn mcp add wiki https://wiki.example/mcp', 'an address'],
    ['gmn mcp list --check', 'do they answer?'],
    ['gmn mcp call files read_text_file path=README.md', 'run a tool'],
  ],
  subcommands: [
    command({
      name: 'list',
      summary: 'The configured servers; nothing is started unless --check is given',
      flags: [{ long: 'check', help: 'Connect to each, and show what it offers' }, TIMEOUT_FLAG, ...INSPECT_FLAGS],
      load: () => import('../../commands/mcp/list.ts'),
    }),
    command({
      name: 'tools',
      summary: 'The tools of a server, or of all',
      args: '[server]',
      flags: [TIMEOUT_FLAG, ...INSPECT_FLAGS],
      load: () => import('../../commands/mcp/tools.ts'),
    }),
    command({
      name: 'call',
      summary: 'Run a tool; values are JSON where they can be, @file and - (stdin) are read',
      args: '<server> <tool> [k=v...]',
      flags: [
        { long: 'json', value: 'object', help: 'All arguments as one JSON object, @file or - (stdin)' },
        {
          long: 'output-format',
          short: 'o',
          value: 'format',
          choices: ['text', 'json'],
          fallback: 'text',
          help: 'Shape of stdout',
        },
        OUTPUT_FILE_FLAG,
        TIMEOUT_FLAG,
        ...SERVER_FLAGS,
        QUIET_FLAG,
        ...APP_FLAGS,
      ],
      examples: [
        ['gmn mcp call files read_text_file path=README.md', 'one argument'],
        [`gmn mcp call files search --json '{"pattern":"*.ts"}'`, 'all of them as JSON'],
      ],
      load: () => import('../../commands/mcp/call.ts'),
    }),
    command({
      name: 'prompts',
      summary: 'The prompts of a server, or of all',
      args: '[server]',
      flags: [TIMEOUT_FLAG, ...INSPECT_FLAGS],
      load: () => import('../../commands/mcp/prompts.ts'),
    }),
    command({
      name: 'prompt',
      summary: 'Fill in a prompt and print it; @file and - (stdin) are read',
      args: '<server> <name> [k=v...]',
      flags: [TIMEOUT_FLAG, ...INSPECT_FLAGS],
      load: () => import('../../commands/mcp/prompt.ts'),
    }),
    command({
      name: 'resources',
      summary: 'The resources of a server, or of all',
      args: '[server]',
      flags: [TIMEOUT_FLAG, ...INSPECT_FLAGS],
      load: () => import('../../commands/mcp/resources.ts'),
    }),
    command({
      name: 'read',
      summary: 'Print a resource',
      args: '<server> <uri>',
      flags: [OUTPUT_FILE_FLAG, TIMEOUT_FLAG, ...INSPECT_FLAGS],
      load: () => import('../../commands/mcp/read.ts'),
    }),
    command({
      name: 'add',
      summary: 'Add a server, or replace one; flags after the command are its own',
      args: '<name> <commandOrUrl> [args...]',
      flags: [
        ...TRANSPORT_FLAGS,
        SCOPE_FLAG,
        { long: 'timeout', value: 'ms', kind: 'integer', fallback: '600000', help: 'How long it may take to answer' },
        { long: 'trust', help: 'Run its tools without asking' },
        { long: 'description', value: 'text', help: 'What it is for' },
        { long: 'include-tools', value: 'names', repeatable: true, help: 'Offer these tools only; commas, or repeat' },
        { long: 'exclude-tools', value: 'names', repeatable: true, help: 'Tools not to offer; commas, or repeat' },
        ...REPORT_FLAGS,
      ],
      endsFlags: ([, commandOrUrl]) => commandOrUrl !== undefined && !isAddress(commandOrUrl),
      examples: [
        ["gmn mcp add -e TOKEN='$FILES_TOKEN' files npx -y some-server", 'a variable that is filled in when it starts'],
      ],
      load: () => import('../../commands/mcp/add.ts'),
    }),
    command({
      name: 'remove',
      summary: 'Remove a server from the settings',
      args: '<server>',
      flags: [SCOPE_FLAG, ...REPORT_FLAGS],
      load: () => import('../../commands/mcp/remove.ts'),
    }),
    command({
      name: 'get',
      summary: 'One server as the settings define it, secrets hidden',
      args: '<server>',
      flags: INSPECT_FLAGS,
      load: () => import('../../commands/mcp/get.ts'),
    }),
    command({
      name: 'enable',
      summary: 'Use a server again',
      args: '<server>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/mcp/enable.ts'),
    }),
    command({
      name: 'disable',
      summary: 'Keep a server in the settings, but do not use it',
      args: '<server>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/mcp/disable.ts'),
    }),
    command({
      name: 'probe',
      summary: 'Connect to an address or a program that is not configured, and show what it offers',
      args: '<urlOrCommand> [args...]',
      flags: [
        ...TRANSPORT_FLAGS,
        { long: 'accept-defaults', help: "Answer the server's questions with their defaults; ask nobody" },
        { long: 'call-tools', help: 'Also call every tool with sample arguments, and fetch everything else it lists' },
        { long: 'calls', value: 'json', help: 'The same, with these calls: [{"name":…,"arguments":{…}}], or @file' },
        ...REPORT_FLAGS,
      ],
      endsFlags: ([first]) => first !== undefined && !isAddress(first),
      load: () => import('../../commands/mcp/probe.ts'),
    }),
    command({
      name: 'auth',
      summary: 'Sign in to a server in your browser',
      args: '<server>',
      flags: [
        {
          long: 'no-browser',
          help: 'Only print the address to open; you can paste the address where the browser ends up',
        },
        ...INSPECT_FLAGS,
      ],
      load: () => import('../../commands/mcp/auth.ts'),
    }),
    command({
      name: 'logout',
      summary: 'Forget the sign-in at a server',
      args: '<server>',
      flags: INSPECT_FLAGS,
      load: () => import('../../commands/mcp/logout.ts'),
    }),
    MCP_SERVE,
  ],
});
