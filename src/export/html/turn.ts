import type { JsonObject, JsonValue } from '../../core/json.ts';
import { formatCount, formatSize } from '../../core/text/format.ts';
import { countBase64Bytes } from '../../core/text/media.ts';
import {
  findPlainResult,
  formatTime,
  formatTokens,
  type Item,
  type Media,
  type RecordedResult,
  type Turn,
  toIsoTime,
} from '../transcript.ts';
import { markdownHtml } from './answer.ts';
import { codeBlockHtml, escapeAttribute, escapeHtml, highlightHtml } from './text.ts';

const MAX_TITLE = 80;

export function turnLink({ number, prompt }: Turn): string {
  // The prompt itself is last, after notes about commands and undone changes.
  const text = prompt.findLast((item) => item.type === 'text')?.text ?? '';
  const line = /\S.*/.exec(text.slice(0, 10_000))?.[0].trim() ?? '';
  const title = takeCharacters(line, MAX_TITLE) || `Turn ${number}`;
  return `<li><a href="#turn-${number}" dir="auto">${escapeHtml(title)}</a></li>\n`;
}

export function* turnHtml({ number, at, prompt, steps, model, usage }: Turn): Generator<string, void> {
  const id = `turn-${number}`;
  const time = `<time datetime="${toIsoTime(at)}">${formatTime(at)}</time>`;
  yield `<article class="turn" id="${id}">\n<h2><a href="#${id}">${formatCount(number)}</a> ${time}</h2>\n`;
  if (prompt.length > 0) {
    yield formatSectionStart('prompt', 'Prompt');
    // A prompt is not Markdown, even if it looks like it.
    for (const item of prompt) {
      if (item.type === 'text') yield foldedTextHtml(item.text, 'div');
      else yield* stepHtml(item);
    }
    yield '</section>\n';
  }
  if (steps.length > 0) {
    yield formatSectionStart('answer', model ?? 'Answer');
    for (const item of steps) yield* stepHtml(item);
    const tokens = formatTokens(usage);
    yield `${tokens === '' ? '' : `<p class="tokens">${escapeHtml(tokens)}</p>\n`}</section>\n`;
  }
  yield '</article>\n';
}

function takeCharacters(text: string, count: number): string {
  return Array.from(text.slice(0, 2 * count), String)
    .slice(0, count)
    .join('');
}

function formatSectionStart(kind: 'prompt' | 'answer', title: string): string {
  return `<section class="${kind}">\n<h3>${escapeHtml(title)}</h3>\n`;
}

const MARKDOWN = '<div class="markdown" dir="auto" lang="">\n';

function* stepHtml(item: Item): Generator<string, void> {
  switch (item.type) {
    case 'text':
      yield MARKDOWN;
      yield* markdownHtml(item.text);
      return yield '</div>\n';
    case 'thought':
      yield `<details class="thought"><summary><span class="kind">Thought</span></summary>\n${MARKDOWN}`;
      yield* markdownHtml(item.text);
      return yield '</div>\n</details>\n';
    case 'followUp':
      yield `<details class="tool"><summary><span class="kind">Follow-up by gmn</span>${aboutHtml(item.text)}</summary>\n`;
      return yield `${foldedTextHtml(item.text, 'pre')}</details>\n`;
    case 'media':
      return yield mediaHtml(item);
    case 'call':
    case 'answer':
      return yield toolHtml(item);
    case 'code':
      yield '<p class="part">Code that the service ran</p>\n';
      return yield* codeBlockHtml(item.code, item.language);
    case 'output':
      yield `<p class="part${item.ok ? '' : ' bad'}">${item.ok ? 'Output' : `Failed: ${escapeHtml(item.outcome)}`}</p>\n`;
      return yield foldedTextHtml(item.output, 'pre');
    case 'note':
      return yield `<p class="note">${escapeHtml(item.text)}</p>\n`;
    case 'other':
      return yield* codeBlockHtml(JSON.stringify(item.part, undefined, 2), 'json');
  }
}

interface ToolUse {
  readonly name: string;
  readonly args?: JsonObject;
  readonly answer: RecordedResult | undefined;
}

const MAX_HINT = 90;

function toolHtml({ name, args, answer }: ToolUse): string {
  const about = args === undefined ? '' : aboutHtml(findHint(args));
  const summary = `<summary><span class="kind">Tool</span> <code>${escapeHtml(name)}</code>${about}${stateHtml(answer)}</summary>\n`;
  const given = args === undefined ? '' : fieldsHtml(args);
  return `<details class="tool">${summary}${given}${answerHtml(answer)}</details>\n`;
}

function stateHtml(answer: RecordedResult | undefined): string {
  if (answer === undefined) return ' <span class="bad">no answer</span>';
  return typeof answer.response.error === 'string' ? ' <span class="bad">✗ failed</span>' : '';
}

/** The first string: most often the path, the pattern or the command. */
function findHint(args: JsonObject): string {
  const text = Object.values(args).find((value) => typeof value === 'string' && value.trim() !== '');
  return typeof text === 'string' ? text : '';
}

function aboutHtml(text: string): string {
  const [line = ''] = text.trim().split('\n', 1);
  const short = takeCharacters(line, MAX_HINT);
  const hint = short.length < line.length ? `${short}…` : short;
  return hint === '' ? '' : ` <span class="about">${escapeHtml(hint)}</span>`;
}

function answerHtml(answer: RecordedResult | undefined): string {
  if (answer === undefined) return '<p class="note">No answer was recorded.</p>\n';
  const { response, media } = answer;
  const plain = findPlainResult(response);
  const title = `<p class="part${plain?.isError ? ' bad' : ''}">${plain?.isError ? 'Error' : 'Result'}</p>\n`;
  const body = plain === undefined ? fieldsHtml(response) : foldedTextHtml(plain.text, 'pre');
  return title + body + media.map(mediaHtml).join('');
}

function fieldsHtml(fields: JsonObject): string {
  const rows = Object.entries(fields).map(([name, value]) => {
    return value === undefined ? '' : `<dt>${escapeHtml(name)}</dt><dd>${valueHtml(value)}</dd>\n`;
  });
  return rows.length === 0 ? '<p class="note">None.</p>\n' : `<dl class="fields">\n${rows.join('')}</dl>\n`;
}

function valueHtml(value: JsonValue): string {
  if (typeof value === 'string') {
    const isShort = value.length <= 200 && !/[\r\n]/.test(value);
    return isShort ? `<code dir="auto" lang="">${escapeHtml(value)}</code>` : foldedTextHtml(value, 'pre');
  }
  const json = JSON.stringify(value, undefined, 2);
  if (!json.includes('\n')) return `<code>${escapeHtml(json)}</code>`;
  return json.length > 4000
    ? foldedTextHtml(json, 'pre')
    : `<pre class="said"><code>${highlightHtml(json, 'json')}</code></pre>`;
}

/** Types that a browser can only display as an image; SVG could contain scripts. */
const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

function mediaHtml(media: Media): string {
  const label = `${media.mimeType}, ${formatSize(countBase64Bytes(media.data))}`;
  if (!IMAGES.has(media.mimeType) || !isBase64(media.data))
    return `<p class="note">Attached: ${escapeHtml(label)}</p>\n`;
  const image = `<img src="data:${media.mimeType};base64,${media.data}" alt="${escapeAttribute(label)}" loading="lazy">`;
  return `<figure>${image}<figcaption>${escapeHtml(label)}</figcaption></figure>\n`;
}

function isBase64(data: string): boolean {
  const digits = data.replace(/={1,2}$/, '');
  return digits !== '' && !/[^A-Za-z0-9+/]/.test(digits);
}

const MAX_LINES = 30;
const MAX_LENGTH = 4000;
const SHOWN_LINES = 12;
const SHOWN_LENGTH = 1500;

function foldedTextHtml(text: string, tag: 'pre' | 'div'): string {
  // The newline is there because an HTML parser drops the first line break after <pre>.
  const begin = tag === 'pre' ? '<pre class="said" dir="auto" lang="">\n' : '<div class="said" dir="auto" lang="">';
  const formatElement = (part: string): string => `${begin}${escapeHtml(part)}</${tag}>\n`;
  const cut = findFold(text);
  if (cut === text.length) return formatElement(text);
  const rest = text.slice(cut);
  const lines = rest.split('\n').length;
  const amount = lines > 1 ? `${formatCount(lines)} more lines` : `${formatCount(rest.length)} more characters`;
  return `${formatElement(text.slice(0, cut))}<details class="rest"><summary>${amount}</summary>\n${formatElement(rest)}</details>\n`;
}

function findFold(text: string): number {
  const lineEnd = findLineEnd(text, MAX_LINES);
  if (text.length <= MAX_LENGTH && (lineEnd === -1 || lineEnd === text.length - 1)) return text.length;
  const line = findLineEnd(text, SHOWN_LINES);
  if (line !== -1 && line < SHOWN_LENGTH) return line + 1;
  const space = text.lastIndexOf('\n', SHOWN_LENGTH);
  if (space > 0) return space + 1;
  const isPair = /[\udc00-\udfff]/.test(text.charAt(SHOWN_LENGTH));
  return isPair ? SHOWN_LENGTH + 1 : SHOWN_LENGTH;
}

function findLineEnd(text: string, lines: number): number {
  let end = -1;
  for (let line = 0; line < lines; line += 1) {
    end = text.indexOf('\n', end + 1);
    if (end === -1) return -1;
  }
  return end;
}
