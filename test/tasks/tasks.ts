import {
  backgroundCommand,
  customCommand,
  fixABug,
  hugeOutput,
  mcpTool,
  verifyFailsThenPasses,
  writeATest,
} from './command-tasks.ts';
import {
  deniedCall,
  followNestedAgents,
  japaneseText,
  outsideTheFence,
  overwrite,
  parallelReads,
  readALargeLog,
  recoverFromAFailedEdit,
  renameAcrossFiles,
  resumed,
  retryAfter503,
  scaffold,
  searchThenEdit,
  severalEditsAtOnce,
  todoList,
} from './file-tasks.ts';
import type { Task } from './task.ts';

/**
 * Twenty tasks that go every way, and two that have a meaning for people only. The models are scripts: they do what a good model would do,
 * and where a model would look at a result, they do, too.
 */
export const TASKS: readonly Task[] = [
  ...[fixABug, renameAcrossFiles, writeATest, readALargeLog, followNestedAgents, recoverFromAFailedEdit],
  ...[severalEditsAtOnce, parallelReads, backgroundCommand, deniedCall, todoList, verifyFailsThenPasses],
  ...[searchThenEdit, outsideTheFence, japaneseText, hugeOutput, retryAfter503, resumed, scaffold, overwrite],
  ...[mcpTool, customCommand],
];
