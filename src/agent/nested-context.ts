import { isResponse, type StoredContent } from '../core/content.ts';
import { filterObjects, type JsonObject } from '../core/json.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import type { Agent } from './agent.ts';

/** The field of a tool's response beside its output; the agent prompt names it. */
export const CONTEXT_FIELD = 'context_files';

interface FinishedCall {
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly outcome: ToolResult;
}

/**
 * Adds to the result of a call the context files of the directory that it used, except those that `contents` already has. They
 * come with a result because a changed system instruction would invalidate the service's cache.
 */
export async function addNestedContext(
  { findNestedContext, redaction }: Pick<Agent, 'findNestedContext' | 'redaction'>,
  { tool, args, outcome }: FinishedCall,
  contents: readonly StoredContent[],
): Promise<{ readonly outcome: ToolResult; readonly notices: readonly string[] }> {
  const path = outcome.ok ? findToolPath(tool, args) : undefined;
  if (path === undefined || findNestedContext === undefined) return { outcome, notices: [] };
  const { files, notices } = await findNestedContext(path, (file) => contents.some((one) => isSentIn(one, file)));
  if (files.length === 0) return { outcome, notices };
  const added = (await redaction?.redact(files)) ?? files;
  return { outcome: { ...outcome, response: { ...outcome.response, [CONTEXT_FIELD]: added } }, notices };
}

/** Only gmn's own tools have `plain`; the arguments of others may mean anything. */
function findToolPath(tool: Tool, args: JsonObject): string | undefined {
  const { file_path: file, dir_path: directory } = tool.plain?.(args) ?? {};
  return [file, directory].find((path) => typeof path === 'string');
}

function isSentIn({ parts }: StoredContent, file: string): boolean {
  return parts.some(
    (part) =>
      isResponse(part) &&
      filterObjects(part.functionResponse.response[CONTEXT_FIELD]).some(({ path }) => path === file),
  );
}
