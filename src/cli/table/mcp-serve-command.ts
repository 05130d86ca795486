import { type Command, command } from './command.ts';
import { APP_FLAGS, AUTH_FLAG, MODEL_FLAGS } from './flags.ts';

const [MODEL_FLAG, , , BACKEND_FLAG, DEMO_FLAG] = MODEL_FLAGS;

const load = () => import('../../commands/mcp/serve.ts');

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
    help: 'With --http: keep the token in this file (also GMN_MCP_TOKEN); else it is made up and shown',
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
  { long: 'max-running', value: 'n', kind: 'integer', fallback: '4', help: 'Delegated jobs at once' },
  { long: 'max-queued', value: 'n', kind: 'integer', fallback: '100', help: 'Delegated jobs that may wait' },
  { long: 'server-name', value: 'name', fallback: 'gmn', help: 'The name clients are told' },
  { long: 'server-version', value: 'version', fallback: "gmn's own", help: 'The version clients are told' },
  {
    long: 'timeout',
    short: 't',
    value: 'duration',
    kind: 'duration',
    help: 'Has no effect here: every call has a limit of its own',
  },
  MODEL_FLAG,
  AUTH_FLAG,
  BACKEND_FLAG,
  DEMO_FLAG,
  ...APP_FLAGS,
] as const;

/** `gmn mcp serve`. */
export const MCP_SERVE: Command = command({
  name: 'serve',
  summary: 'Be an MCP server: other agents ask Gemini and delegate work to it',
  flags: FLAGS,
  examples: [
    ['claude mcp add gemini -- gmn mcp serve', 'for Claude Code; other hosts: docs/mcp-server.md'],
    ['gmn mcp serve --root ~/work --allow-write', 'Gemini may change files there'],
    ['gmn mcp serve --http 7333 --token-file token', 'for several clients'],
  ],
  load,
});

/** The same under the name that other servers go by. */
export const MCP_SERVER: Command = command({
  name: 'mcp-server',
  summary: 'Same as gmn mcp serve',
  flags: FLAGS,
  load,
});
