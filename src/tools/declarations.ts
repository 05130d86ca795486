import { FILE_ALIASES, type ToolDeclaration } from './define.ts';

// What the model is told about the tools for files. Apart from their code, which most runs do not need: they make few calls
// or none.

export const LIST_DIRECTORY = {
  name: 'list_directory',
  description:
    'Lists the files and directories in a directory of the workspace, not what is below them. Directories end in ' +
    '"/". What .gitignore and .geminiignore leave out is not listed. To find files anywhere, use glob.',
  effect: 'read',
  input: {
    properties: {
      dir_path: { type: 'string', description: 'The directory, relative to the working directory; "." for itself.' },
      ignore: { type: 'array', items: { type: 'string' }, description: 'Globs of names that are not listed.' },
    },
    required: ['dir_path'],
  },
  aliases: { path: 'dir_path' },
} as const satisfies ToolDeclaration;

export const READ_FILE = {
  name: 'read_file',
  description:
    'Reads a file of the workspace. Text comes back as it is, up to 2000 lines at a time; a first line in brackets ' +
    'says so if there is more, and how to continue. Images, PDF, audio and video are attached. Read a file before ' +
    'you change it. What .geminiignore leaves out is not read.',
  effect: 'read',
  input: {
    properties: {
      file_path: { type: 'string', description: 'The file, relative to the working directory.' },
      start_line: { type: 'integer', minimum: 1, description: 'The first line to read, counted from 1.' },
      end_line: { type: 'integer', minimum: 1, description: 'The last line to read, included.' },
      start_column: { type: 'integer', minimum: 1, description: 'The first character of a very long line to read.' },
    },
    required: ['file_path'],
  },
  aliases: FILE_ALIASES,
} as const satisfies ToolDeclaration;

export const WRITE_FILE = {
  name: 'write_file',
  description:
    'Writes a whole text file of the workspace; directories that are missing are made. A file that exists must have ' +
    'been read with read_file before, all of it. For changes to a part of a file use edit_file.',
  effect: 'write',
  input: {
    properties: {
      file_path: { type: 'string', description: 'The file, relative to the working directory.' },
      content: { type: 'string', description: 'The complete content of the file, nothing left out.' },
    },
    required: ['file_path', 'content'],
  },
  aliases: { path: 'file_path' },
} as const satisfies ToolDeclaration;

export const EDIT_FILE = {
  name: 'edit_file',
  description:
    'Replaces old_string by new_string in a text file of the workspace that was read with read_file before. ' +
    'old_string must be copied exactly from the file, with a few lines around the change, so that it is found once. ' +
    'new_string is put in literally. An empty old_string makes a new file. For several changes to one file give edits ' +
    'instead: all are made, or none.',
  effect: 'write',
  input: {
    properties: {
      file_path: { type: 'string', description: 'The file, relative to the working directory.' },
      old_string: { type: 'string', description: 'The text to be replaced, exactly as it is in the file.' },
      new_string: { type: 'string', description: 'The text that replaces it.' },
      allow_multiple: {
        type: 'boolean',
        description: 'Replace every place where old_string is found. Without it, it must be found exactly once.',
      },
      edits: {
        type: 'array',
        items: {
          type: 'object',
          properties: { old_string: { type: 'string' }, new_string: { type: 'string' } },
          required: ['old_string', 'new_string'],
        },
        description: 'Several changes, instead of old_string and new_string. Each is found in the file as it is now.',
      },
      instruction: { type: 'string', description: 'What the change is for, in a sentence. Optional.' },
    },
    required: ['file_path'],
  },
  aliases: { path: 'file_path', replace_all: 'allow_multiple' },
} as const satisfies ToolDeclaration;

export const GLOB = {
  name: 'glob',
  description:
    'Finds files of the workspace whose paths match a pattern such as "**/*.ts" or "src/**/{a,b}-*.json", in the ' +
    'order of their paths. A pattern without "/" is looked for in every directory. node_modules and what ' +
    '.gitignore and .geminiignore leave out is not searched.',
  effect: 'read',
  input: {
    properties: {
      pattern: { type: 'string', description: 'The glob: *, ?, [a-z], {a,b}, and ** for any number of directories.' },
      dir_path: { type: 'string', description: 'Where to look; the working directory if left out.' },
      case_sensitive: { type: 'boolean', description: 'Whether case matters; it does not if left out.' },
      respect_git_ignore: { type: 'boolean', description: 'Set to false to find what .gitignore leaves out, too.' },
    },
    required: ['pattern'],
  },
  aliases: { path: 'dir_path' },
} as const satisfies ToolDeclaration;

export const SEARCH_FILE_CONTENT = {
  name: 'search_file_content',
  description:
    'Finds the lines of files of the workspace that match a regular expression; case does not matter unless ' +
    'case_sensitive is set. Lines are given as "12: text", lines around them as "13- text". Binary files, ' +
    'node_modules and what .gitignore and .geminiignore leave out is not searched.',
  effect: 'read',
  input: {
    properties: {
      pattern: { type: 'string', description: 'The regular expression, matched against one line at a time.' },
      dir_path: { type: 'string', description: 'Where to look; the working directory if left out.' },
      include_pattern: { type: 'string', description: 'Look only in files that match this glob, e.g. "*.{ts,tsx}".' },
      exclude_pattern: { type: 'string', description: 'Do not look in files that match this glob.' },
      fixed_strings: { type: 'boolean', description: 'Take the pattern as plain text.' },
      case_sensitive: { type: 'boolean', description: 'Whether case matters; it does not if left out.' },
      context: { type: 'integer', minimum: 0, maximum: 50, description: 'Lines to show around each match.' },
      before: { type: 'integer', minimum: 0, maximum: 50, description: 'Lines to show before each match.' },
      after: { type: 'integer', minimum: 0, maximum: 50, description: 'Lines to show after each match.' },
      names_only: { type: 'boolean', description: 'Give the names of the files only.' },
      max_matches_per_file: { type: 'integer', minimum: 1, description: 'Matches to show of one file, at most.' },
      total_max_matches: { type: 'integer', minimum: 1, description: 'Matches to show, at most; 100 if left out.' },
      no_ignore: { type: 'boolean', description: 'Set to true to look in what .gitignore leaves out, too.' },
    },
    required: ['pattern'],
  },
  aliases: { path: 'dir_path', include: 'include_pattern' },
} as const satisfies ToolDeclaration;

export const WRITE_TODOS = {
  name: 'write_todos',
  description:
    'Keeps a list of the steps of a longer task and shows it to the user. Give the whole list each time; it replaces ' +
    'the one before. Mark a step in_progress before you begin it, only one at a time, and completed as soon as it is ' +
    'done. Not for work of one or two steps.',
  effect: 'read',
  input: {
    properties: {
      todos: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            description: { type: 'string' },
            status: { type: 'string', enum: ['pending', 'in_progress', 'completed', 'cancelled'] },
          },
          required: ['description', 'status'],
        },
        description: 'All steps, in order.',
      },
    },
    required: ['todos'],
  },
} as const satisfies ToolDeclaration;
