// Written by `npm run docs` from the tools in src/tools/.

export const TOOL_NAMES = [
  'list_directory',
  'read_file',
  'write_file',
  'edit_file',
  'glob',
  'search_file_content',
  'write_todos',
  'activate_skill',
  'run_shell_command',
  'read_output',
  'stop_command',
  'web_fetch',
  'google_web_search',
] as const;

export const TOOL_SETS = [
  ['read', 'list_directory, read_file, glob, search_file_content, write_todos, activate_skill'],
  ['edit', 'those, and write_file, edit_file'],
  ['all', 'those, and run_shell_command (read_output, stop_command), web_fetch, google_web_search'],
] as const;
