import type { ServerTool, ToolGroup } from '../tool.ts';
import { analyzeImage } from './analyze-image.ts';
import { chat, chatReply } from './chat.ts';
import { decide } from './decide.ts';
import { delegate } from './delegate.ts';
import { delegateCancel, delegateJobs, delegateSessions, delegateStatus } from './delegate-jobs.ts';
import { generateText } from './generate-text.ts';
import { countTokens, embedText, getHelp, listModels } from './queries.ts';

const TOOLS: Readonly<Record<ToolGroup, readonly ServerTool[]>> = {
  chat: [chat, chatReply],
  genai: [generateText, analyzeImage, countTokens, listModels, embedText, decide, getHelp],
  delegate: [delegate, delegateStatus, delegateJobs, delegateCancel, delegateSessions],
};

export function selectServedTools(groups: readonly ToolGroup[]): readonly ServerTool[] {
  return Object.entries(TOOLS).flatMap(([group, tools]) => (groups.some((wanted) => wanted === group) ? tools : []));
}
