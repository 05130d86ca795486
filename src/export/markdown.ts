import type { JsonObject } from '../core/json.ts';
import type { SavedSession } from '../core/session.ts';
import { formatSize } from '../core/text/size.ts';
import { visible } from '../core/text/terminal.ts';
import { closed } from './closed-markdown.ts';
import { factsOf, timeText, tokenLine } from './facts.ts';
import { plainResult } from './result.ts';
import { type Answer, bytesOf, type Item, type Media, type Turn, turnsOf } from './transcript.ts';

/**
 * A session as a Markdown transcript, piece by piece. What was said is as it was said, and ends no section but its own; only
 * where it defines a link, that counts for the whole document.
 */
export function* markdownExport(saved: SavedSession): Generator<string, void> {
  const facts = factsOf(saved).map(([name, value]) => `- ${name}: ${inline(value)}\n`);
  yield `# ${inline(saved.summary.title) || 'Session'}\n\n${facts.join('')}`;
  for (const notice of saved.notices) yield `\n> **Note:** ${inline(notice)}\n`;
  for (const turn of turnsOf(saved.records)) yield* turnPieces(turn);
}

function* turnPieces({ number, at, prompt, steps, model, usage }: Turn): Generator<string, void> {
  yield `\n---\n\n## ${number}. Prompt\n\n*${timeText(at)}*\n`;
  for (const item of prompt) yield `\n${itemText(item)}`;
  if (steps.length === 0) return;
  yield `\n### Answer${model === undefined ? '' : ` (${inline(model)})`}\n`;
  for (const item of steps) yield `\n${itemText(item)}`;
  const tokens = tokenLine(usage);
  if (tokens !== '') yield `\n*${tokens}*\n`;
}

/** Whole lines. */
function itemText(item: Item): string {
  switch (item.type) {
    case 'text':
      return closed(item.text) ?? fenced(item.text);
    case 'thought':
      return quoted(`**Thought**\n\n${item.text.trimEnd()}\n`);
    case 'media':
      return mediaLine(item);
    case 'call':
      return `#### Tool: ${codeSpan(item.name)}\n\n${fenced(json(item.args), 'json')}${answerText(item.answer)}`;
    case 'answer':
      return `#### Answer of a tool: ${codeSpan(item.name)}\n${answerText(item.answer)}`;
    case 'note':
      return `*${inline(item.text)}*\n`;
    case 'other':
      return fenced(JSON.stringify(item.part, undefined, 2), 'json');
  }
}

function answerText(answer: Answer | undefined): string {
  if (answer === undefined) return '\n*No answer was recorded.*\n';
  const plain = plainResult(answer.response);
  const body = plain === undefined ? fenced(json(answer.response), 'json') : fenced(plain.text);
  const media = answer.media.map((each) => `\n${mediaLine(each)}`).join('');
  return `\n${plain?.isError ? 'Error' : 'Result'}:\n\n${body}${media}`;
}

function mediaLine(media: Media): string {
  return `*[${inline(media.mimeType)}, ${formatSize(bytesOf(media))}]*\n`;
}

/** Its marks outrun any in the text. */
function fenced(text: string, language = ''): string {
  const mark = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${mark}${language}\n${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${mark}\n`;
}

/** A name as code, on one line. */
function codeSpan(text: string): string {
  const shown = visible(text);
  const mark = '`'.repeat(longestRun(shown) + 1);
  return mark.length > 1 ? `${mark} ${shown} ${mark}` : `${mark}${shown}${mark}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

function quoted(text: string): string {
  const lines = text.split(/\r\n?|\n/).slice(0, -1);
  return lines.map((line) => (line.trim() === '' ? '>\n' : `> ${line}\n`)).join('');
}

/** Untrusted words on a line of ours, as they are and not as Markdown. */
function inline(text: string): string {
  return visible(text).replace(/[\\`*_[\]<>&#|~]/g, '\\$&');
}

function json(value: JsonObject): string {
  return JSON.stringify(value, undefined, 2);
}
