import {
  APPROVAL_FLAGS,
  FILE_FLAG,
  SESSION_FLAGS,
  SYSTEM_FLAGS,
  THINKING_FLAGS,
  TOOL_SUGGESTIONS,
} from './agent-flags.ts';
import { SERVER_FLAGS } from './flags.ts';

/** The flags of a chat, besides those it shares with other commands. */
export const CHAT_FLAGS = [
  {
    long: 'prompt',
    short: 'p',
    value: 'text',
    help: 'The first prompt; same as the positional form, cannot be combined with it',
  },
  FILE_FLAG,
  ...SESSION_FLAGS,
  ...SYSTEM_FLAGS,
  ...THINKING_FLAGS,
  {
    long: 'tools',
    value: 'set',
    suggestions: TOOL_SUGGESTIONS,
    fallback: 'edit',
    help: 'Tools for the model: none, read, edit, all, or names (list_directory,read_file,…)',
  },
  ...APPROVAL_FLAGS,
  { long: 'shell', value: 'path', help: 'Shell for !commands and for run_shell_command, which it turns on' },
  ...SERVER_FLAGS,
  { long: 'no-mcp', help: 'Use no MCP servers' },
  { long: 'plain', help: 'No colours, no layout, nothing redrawn' },
] as const;
