import { Lexer } from 'marked';
import type { JsonObject } from '../core/json.ts';
import type { SavedSession } from '../core/session.ts';
import { formatSize } from '../core/text/format.ts';
import { countBase64Bytes } from '../core/text/media.ts';
import { sanitize } from '../core/text/terminal.ts';
import { countMatches } from '../core/text/trim.ts';
import { findFence } from '../render/markdown/lexer.ts';
import {
  findPlainResult,
  formatTime,
  formatTokens,
  type Item,
  listFacts,
  type Media,
  type RecordedResult,
  splitTurns,
  type Turn,
} from './transcript.ts';

/**
 * Texts are unchanged and cannot run into the next section; only their link definitions apply to the whole document.
 */
export function* exportMarkdown(saved: SavedSession): Generator<string, void> {
  const facts = listFacts(saved).map(([name, value]) => `- ${name}: ${escapeInline(value)}\n`);
  yield `# ${escapeInline(saved.summary.title) || 'Session'}\n\n${facts.join('')}`;
  for (const notice of saved.notices) yield `\n> **Note:** ${escapeInline(notice)}\n`;
  for (const turn of splitTurns(saved.records)) yield* formatTurnSection(turn);
}

function* formatTurnSection({ number, at, prompt, steps, model, usage }: Turn): Generator<string, void> {
  yield `\n---\n\n## ${number}. Prompt\n\n*${formatTime(at)}*\n`;
  for (const item of prompt) yield `\n${formatItem(item)}`;
  if (steps.length === 0) return;
  yield `\n### Answer${model === undefined ? '' : ` (${escapeInline(model)})`}\n`;
  for (const item of steps) yield `\n${formatItem(item)}`;
  const tokens = formatTokens(usage);
  if (tokens !== '') yield `\n*${tokens}*\n`;
}

function formatItem(item: Item): string {
  switch (item.type) {
    case 'text':
      return closeBlocks(item.text) ?? fenceCode(item.text);
    case 'thought':
      return quoteLines(`**Thought**\n\n${item.text.trimEnd()}\n`);
    case 'followUp':
      return `#### Follow-up by gmn\n\n${fenceCode(item.text)}`;
    case 'media':
      return formatMedia(item);
    case 'call':
      return `#### Tool: ${formatCodeSpan(item.name)}\n\n${fenceCode(indentJson(item.args), 'json')}${formatRecordedResult(item.answer)}`;
    case 'answer':
      return `#### Tool result: ${formatCodeSpan(item.name)}\n${formatRecordedResult(item.answer)}`;
    case 'code':
      return `#### Code that the service ran\n\n${fenceCode(item.code, /^\w+$/.test(item.language) ? item.language : '')}`;
    case 'output':
      return `${item.ok ? 'Output' : `Failed (${escapeInline(item.outcome)})`}:\n\n${fenceCode(item.output)}`;
    case 'note':
      return `*${escapeInline(item.text)}*\n`;
    case 'other':
      return fenceCode(JSON.stringify(item.part, undefined, 2), 'json');
  }
}

function formatRecordedResult(answer: RecordedResult | undefined): string {
  if (answer === undefined) return '\n*No answer was recorded.*\n';
  const plain = findPlainResult(answer.response);
  const body = plain === undefined ? fenceCode(indentJson(answer.response), 'json') : fenceCode(plain.text);
  const media = answer.media.map((each) => `\n${formatMedia(each)}`).join('');
  return `\n${plain?.isError ? '✗ Failed' : 'Result'}:\n\n${body}${media}`;
}

function formatMedia(media: Media): string {
  return `*[${escapeInline(media.mimeType)}, ${formatSize(countBase64Bytes(media.data))}]*\n`;
}

/** Longer than any run of backticks in the text. */
function fenceCode(text: string, language = ''): string {
  const mark = '`'.repeat(Math.max(3, countBackticks(text) + 1));
  return `${mark}${language}\n${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${mark}\n`;
}

function formatCodeSpan(text: string): string {
  const name = sanitize(text);
  const mark = '`'.repeat(countBackticks(name) + 1);
  return mark.length > 1 ? `${mark} ${name} ${mark}` : `${mark}${name}${mark}`;
}

function countBackticks(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

function quoteLines(text: string): string {
  const lines = text.split(/\r\n?|\n/).slice(0, -1);
  return lines.map((line) => (line.trim() === '' ? '>\n' : `> ${line}\n`)).join('');
}

function escapeInline(text: string): string {
  return sanitize(text).replace(/[\\`*_[\]<>&#|~]/g, '\\$&');
}

function indentJson(value: JsonObject): string {
  return JSON.stringify(value, undefined, 2);
}

/** What ends an HTML block that may span blank lines. https://spec.commonmark.org/0.31.2/#html-blocks */
const HTML_ENDS = ['-->', '?>', ']]>', '>', '</pre>', '</script>', '</style>', '</textarea>'];

/**
 * Adds the end of any block the text left open, so that the next section is not read as part of it. Undefined if no
 * such end is found, or the text is too long to check.
 */
function closeBlocks(text: string): string | undefined {
  if (isTooLong(text)) return undefined;
  const body = text.endsWith('\n') ? text : `${text}\n`;
  if (isClosed(body)) return body;
  const marks = body.split('\n').flatMap((line) => findFence(line)?.mark ?? []);
  const ends = [...new Set(marks)].slice(-4).concat(HTML_ENDS);
  return ends.map((end) => `${body}${end}\n`).find(isClosed);
}

/** In characters; longer texts are data rather than prose. */
const MAX_LENGTH = 262_144;
/** Lists and tables take quadratic time to parse, but short ones not long. */
const MAX_LINES = 2000;
/** A hundred nested blocks on one line take quadratic time to parse. */
const DEEP = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){100}/m;

function isTooLong(text: string): boolean {
  return text.length > MAX_LENGTH || countMatches(text, /\n/g) > MAX_LINES || DEEP.test(text);
}

function isClosed(text: string): boolean {
  try {
    const last = new Lexer().blockTokens(`${text}\n## end\n`).at(-1);
    return last?.type === 'heading' && last.raw === '## end\n';
  } catch {
    // Thousands of nested quotes overflow the stack.
    return false;
  }
}
