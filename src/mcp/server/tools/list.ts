import type { ServerTool, ToolGroup } from '../tool.ts';
import { analyzeImage } from './analyze-image.ts';
import { chat } from './chat.ts';
import { chatReply } from './chat-reply.ts';
import { delegate } from './delegate.ts';
import { delegateCancel } from './delegate-cancel.ts';
import { delegateJobs } from './delegate-jobs.ts';
import { delegateSessions } from './delegate-sessions.ts';
import { delegateStatus } from './delegate-status.ts';
import { embedText } from './embed-text.ts';
import { generateText } from './generate-text.ts';
import { getHelp } from './get-help.ts';
import { listModels } from './list-models.ts';
import { countTokens } from './queries.ts';

const TOOLS: Readonly<Record<ToolGroup, readonly ServerTool[]>> = {
  chat: [chat, chatReply],
  genai: [generateText, analyzeImage, countTokens, listModels, embedText, getHelp],
  delegate: [delegate, delegateStatus, delegateJobs, delegateCancel, delegateSessions],
};

/** The tools of these groups, always in the same order. */
export function toolsOf(groups: readonly ToolGroup[]): readonly ServerTool[] {
  return Object.entries(TOOLS).flatMap(([group, tools]) => (groups.some((wanted) => wanted === group) ? tools : []));
}
