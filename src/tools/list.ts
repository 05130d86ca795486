import { activateSkill } from './activate-skill.ts';
import type { ToolDefinition } from './define.ts';
import { editFile } from './edit-file.ts';
import { glob } from './glob.ts';
import { googleWebSearch } from './google-web-search.ts';
import { listDirectory } from './list-directory.ts';
import { readFile } from './read-file.ts';
import { readOutput } from './read-output.ts';
import { runShellCommand } from './run-shell-command.ts';
import { searchFileContent } from './search-file-content.ts';
import { stopCommand } from './stop-command.ts';
import { webFetch } from './web-fetch.ts';
import { writeFile } from './write-file.ts';
import { writeTodos } from './write-todos.ts';

/** In the order in which the model is told about them. `npm run docs` adds new ones; the order may be changed by hand. */
export const TOOLS: readonly ToolDefinition[] = [
  listDirectory,
  readFile,
  writeFile,
  editFile,
  glob,
  searchFileContent,
  writeTodos,
  activateSkill,
  runShellCommand,
  readOutput,
  stopCommand,
  webFetch,
  googleWebSearch,
];
