import { resolve } from 'node:path';
import type { Part, StoredContent } from '../core/content.ts';
import { filterObjects, toNonEmptyString } from '../core/json.ts';
import type { Session } from '../core/session.ts';
import type { ToolCall } from '../core/tool.ts';
import { type ReplayedEvent, replayEvents } from '../session/replay.ts';
import type { Client } from './client.ts';
import type { ContentBlock, ToolCallContent } from './sdk.ts';
import { type FindTool, toDiff, toMediaBlock } from './tool-call.ts';
import { createTurnUpdates } from './updates.ts';

interface ReplayContext {
  readonly client: Client;
  readonly cwd: string;
  readonly findTool: FindTool;
}

/** Shows what was said before, as it was shown then. */
export async function replaySession(session: Session, context: ReplayContext): Promise<void> {
  const { client, cwd, findTool } = context;
  const updates = createTurnUpdates({ client, cwd, findTool, turn: 'h' });
  for (const event of replayEvents(session)) {
    if (event.type === 'prompt') await replayPrompt(event.content, client);
    else {
      if (event.type === 'answer' && event.outcome.ok) updates.addContent(event.id, listDiffs(event, context));
      await updates.render(await completeAnswer(event, findTool));
    }
  }
}

async function replayPrompt({ parts }: StoredContent, client: Client): Promise<void> {
  for (const part of parts) {
    const content = toContentBlock(part);
    if (content !== undefined) await client.update({ sessionUpdate: 'user_message_chunk', content });
  }
}

function toContentBlock(part: Part): ContentBlock | undefined {
  if ('text' in part) return { type: 'text', text: part.text };
  if ('inlineData' in part) return toMediaBlock(part.inlineData);
  if (!('fileData' in part)) return undefined;
  const { fileUri: uri, mimeType } = part.fileData;
  return { type: 'resource_link', uri, mimeType, name: part.localFile?.name ?? uri };
}

/** The tool keeps nothing: the same call gives the same list of steps. */
async function completeAnswer<Event extends ReplayedEvent>(event: Event, findTool: FindTool): Promise<Event> {
  const tool = event.type === 'answer' && event.outcome.ok ? findTool(event.name) : undefined;
  if (event.type !== 'answer' || !tool?.isPlan) return event;
  return { ...event, outcome: await tool.invoke(event.args ?? {}, new AbortController().signal) };
}

/** Of the parts that an edit named; the rest of the file may have changed since. */
function listDiffs(
  { name, args = {} }: Pick<ToolCall, 'name'> & Partial<ToolCall>,
  { cwd, findTool }: ReplayContext,
): ToolCallContent[] {
  const tool = findTool(name);
  if (tool?.effect !== 'write' || tool.remote !== undefined) return [];
  const file = toNonEmptyString(args.file_path ?? args.path);
  if (file === undefined || file.includes('\0')) return [];
  const path = resolve(cwd, file);
  if (typeof args.content === 'string') {
    return [toDiff({ path, before: undefined, after: args.content })];
  }
  const edits = Array.isArray(args.edits) && args.edits.length > 0 ? filterObjects(args.edits) : [args];
  return edits.flatMap(({ old_string: before, new_string: after }) =>
    typeof before === 'string' && typeof after === 'string' ? [toDiff({ path, before, after })] : [],
  );
}
