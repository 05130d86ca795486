import { isPrompt, isResponse, type Part, type ResponsePart, type StoredContent } from '../core/content.ts';
import type { Compaction, ConversationSummary, History, ShortenedOutput } from '../core/history.ts';
import type { JsonObject } from '../core/json.ts';
import { plural } from '../core/text/format.ts';
import { READ_TOOL } from '../core/tool.ts';
import { estimateTokens, MEDIA_TOKENS } from '../core/usage.ts';
import { CONTEXT_FIELD } from './nested-context.ts';

export function listSent({
  contents,
  compactions = [],
}: Pick<History, 'contents' | 'compactions'>): readonly StoredContent[] {
  return applyCompactions(contents, compactions);
}

/**
 * The conversation as the compactions leave it: a summary in place of its beginning, and pointers in place of outputs.
 * Everything else is the same object as before. Deterministic, so that later requests begin alike.
 */
export function applyCompactions(
  contents: readonly StoredContent[],
  compactions: readonly Compaction[],
): readonly StoredContent[] {
  const { summary, outputs } = mergeCompactions(compactions);
  const start = Math.min(summary?.end ?? 0, contents.length);
  const tail = contents.slice(start).map((content, index) => shortenContent(content, outputs.get(start + index)));
  return summary === undefined ? tail : [...toSummaryContents(summary, contents, tail[0]), ...tail];
}

/** The outputs by the index of the content, then of the part. */
export function mergeCompactions(compactions: readonly Compaction[]) {
  const outputs = new Map<number, Map<number, ShortenedOutput>>();
  for (const output of compactions.flatMap((compaction) => compaction.outputs)) {
    const parts = outputs.get(output.content) ?? new Map<number, ShortenedOutput>();
    outputs.set(output.content, parts.set(output.part, output));
  }
  return { summary: compactions.findLast(({ summary }) => summary !== undefined)?.summary, outputs };
}

/** What of the conversation is no longer sent as it was; undefined if all of it is. */
export function describeCompactions(compactions: readonly Compaction[]): string | undefined {
  const { summary, outputs } = mergeCompactions(compactions);
  const shortened = [...outputs].flatMap(([index, parts]) => (index < (summary?.end ?? 0) ? [] : [...parts.values()]));
  const pointers = shortened.filter(({ head, tail }) => head + tail === 0).length;
  const what = [
    ...(summary === undefined ? [] : [`a summary replaces the first ${plural(summary.end, 'message')}`]),
    ...(pointers === 0
      ? []
      : [`${plural(pointers, 'tool result')} ${pointers === 1 ? 'is a pointer' : 'are pointers'} to files`]),
    ...(shortened.length === pointers ? [] : [`${plural(shortened.length - pointers, 'tool result')} shortened`]),
  ];
  return what.length === 0 ? undefined : `Compacted: ${what.join('; ')}. The session keeps all of it.`;
}

const ACKNOWLEDGEMENT: StoredContent = { role: 'model', parts: [{ text: 'I will continue from there.' }] };

/** Followed by the prompt if a reply to it comes next; otherwise by a reply, so that roles alternate. */
function toSummaryContents(
  { text, prompt, promptLimit }: ConversationSummary,
  contents: readonly StoredContent[],
  next: StoredContent | undefined,
): readonly StoredContent[] {
  const about = `This is a summary of our conversation so far:\n\n${text}`;
  const asked = prompt === undefined ? undefined : contents[prompt];
  if (asked !== undefined && isPrompt(asked) && next?.role === 'model') {
    const request = promptLimit === undefined ? asked.parts : [{ text: cutPrompt(asked, promptLimit) }];
    return [{ role: 'user', parts: [{ text: `${about}\n\nYou are working on this request:` }, ...request] }];
  }
  const summary: StoredContent = { role: 'user', parts: [{ text: about }] };
  return next?.role === 'model' ? [summary] : [summary, ACKNOWLEDGEMENT];
}

/** The user's own text comes last in a prompt, after files, so more of its end is kept. */
const PROMPT_HEAD_SHARE = 0.2;

function cutPrompt({ parts }: StoredContent, limit: number): string {
  const text = parts.map((part) => ('text' in part ? part.text : '')).join('\n');
  const head = Math.floor(limit * PROMPT_HEAD_SHARE);
  return cutMiddle(text, { head, tail: limit - head }, (left) => `[… ${left} characters are left out here …]`);
}

/** The first and the last characters of a text, with a mark in between. Cuts no character in half. */
export function cutMiddle(
  text: string,
  { head, tail }: { readonly head: number; readonly tail: number },
  mark: (left: number) => string,
): string {
  if (text.length <= head + tail) return text;
  const start = text.slice(0, head).toWellFormed();
  const end = tail === 0 ? '' : text.slice(-tail).toWellFormed();
  return [start, mark(text.length - head - tail), end].filter((piece) => piece !== '').join('\n');
}

function shortenContent(
  content: StoredContent,
  outputs: ReadonlyMap<number, ShortenedOutput> | undefined,
): StoredContent {
  if (outputs === undefined) return content;
  let isDropping = false;
  const parts = content.parts.flatMap((part, index): readonly Part[] => {
    if (!isResponse(part)) return isDropping && 'inlineData' in part ? [] : [part];
    const output = outputs.get(index);
    isDropping = output?.head === 0 && output.tail === 0;
    return [output === undefined ? part : shortenResponse(part, output)];
  });
  return { ...content, parts };
}

function shortenResponse({ functionResponse }: ResponsePart, { head, tail, path }: ShortenedOutput): ResponsePart {
  const { text, rest } = splitOutput(functionResponse.response);
  const advice = path === undefined ? 'call the tool again if you need it' : `${READ_TOOL} ${path} shows all of it`;
  const mark = (left: number): string =>
    head + tail === 0
      ? `[This result of ${text.length} characters was taken out to make room; ${advice}.]`
      : `[… ${left} characters are left out here to make room; ${advice} …]`;
  return {
    functionResponse: { ...functionResponse, response: { ...rest, output: cutMiddle(text, { head, tail }, mark) } },
  };
}

/** Fields beside the output, such as an exit code, are kept if they are no longer than this as JSON. */
const MAX_REST_LENGTH = 1000;

/** The part of a tool's response that may be shortened, as text, and the fields that are kept. */
export function splitOutput(response: JsonObject): { readonly text: string; readonly rest: JsonObject } {
  const { output, [CONTEXT_FIELD]: context, ...rest } = response;
  // Instructions for a directory are valid as long as the result is in the conversation.
  const kept = context === undefined ? {} : { [CONTEXT_FIELD]: context };
  if (typeof output === 'string' && JSON.stringify(rest).length <= MAX_REST_LENGTH)
    return { text: output, rest: { ...rest, ...kept } };
  return { text: JSON.stringify(output === undefined ? rest : { output, ...rest }, undefined, 1), rest: kept };
}

/** Parts never change, so each is measured once: it may be megabytes, and the status line asks at every key. */
const estimates = new WeakMap<Part, number>();

/** In tokens; thoughts are not sent. */
function estimatePart(part: Part): number {
  const tokens = estimates.get(part) ?? computeEstimate(part);
  estimates.set(part, tokens);
  return tokens;
}

function computeEstimate(part: Part): number {
  if ('inlineData' in part || 'fileData' in part) return MEDIA_TOKENS;
  if ('thought' in part && part.thought === true && !('functionCall' in part)) return 0;
  return estimateTokens('text' in part ? part.text : JSON.stringify(part));
}

export function estimateContent({ parts }: Pick<StoredContent, 'parts'>): number {
  return parts.reduce((sum, part) => sum + estimatePart(part), 0);
}

const SLICE_TOKENS = 500_000;

/** Measures a long conversation in slices, with a pause between them, so that later estimates take no time. */
export async function prepareEstimates(contents: readonly StoredContent[], pause: () => Promise<void>): Promise<void> {
  let tokens = 0;
  for (const content of contents) {
    tokens += estimateContent(content);
    if (tokens < SLICE_TOKENS) continue;
    tokens = 0;
    await pause();
  }
}

export function isToolResult(content: StoredContent): boolean {
  return content.role === 'user' && !isPrompt(content);
}
