import { count, timeCode, timeText, tokenLine } from '../facts.ts';
import type { Item, Turn } from '../transcript.ts';
import { markdownHtml } from './answer.ts';
import { codeBlock } from './code.ts';
import { foldedText } from './folded.ts';
import { mediaHtml } from './media.ts';
import { escaped } from './text.ts';
import { toolHtml } from './tool.ts';

const MAX_TITLE = 80;

/** One line of the table of turns. */
export function turnLink({ number, prompt }: Turn): string {
  const text = prompt.find((item) => item.type === 'text')?.text ?? '';
  const line = /\S.*/.exec(text.slice(0, 10_000))?.[0].trim() ?? '';
  const title =
    Array.from(line.slice(0, 2 * MAX_TITLE))
      .slice(0, MAX_TITLE)
      .join('') || `Turn ${number}`;
  return `<li><a href="#turn-${number}" dir="auto">${escaped(title)}</a></li>\n`;
}

/** One turn: the prompt as it was typed, then what happened, in order. */
export function turnHtml({ number, at, prompt, steps, model, usage }: Turn): string {
  const id = `turn-${number}`;
  const time = `<time datetime="${timeCode(at)}">${timeText(at)}</time>`;
  const head = `<h2><a href="#${id}">${count(number)}</a> ${time}</h2>\n`;
  const asked = prompt.length === 0 ? '' : sectionHtml('prompt', 'Prompt', prompt.map(promptHtml));
  const tokens = tokenLine(usage);
  const spent = tokens === '' ? [] : [`<p class="tokens">${escaped(tokens)}</p>\n`];
  const answered = [...steps.map(stepHtml), ...spent];
  const told = steps.length === 0 ? '' : sectionHtml('answer', model ?? 'Answer', answered);
  return `<article class="turn" id="${id}">\n${head}${asked}${told}</article>\n`;
}

function sectionHtml(kind: 'prompt' | 'answer', title: string, parts: readonly string[]): string {
  return `<section class="${kind}">\n<h3>${escaped(title)}</h3>\n${parts.join('')}</section>\n`;
}

/** What people type is no Markdown, even if it looks like it. */
function promptHtml(item: Item): string {
  return item.type === 'text' ? foldedText(item.text, 'div') : stepHtml(item);
}

function stepHtml(item: Item): string {
  switch (item.type) {
    case 'text':
      return `<div class="markdown" dir="auto" lang="">\n${markdownHtml(item.text)}</div>\n`;
    case 'thought':
      return `<details class="thought"><summary><span class="kind">Thought</span></summary>\n<div class="markdown" dir="auto" lang="">\n${markdownHtml(item.text)}</div>\n</details>\n`;
    case 'media':
      return mediaHtml(item);
    case 'call':
    case 'answer':
      return toolHtml(item);
    case 'note':
      return `<p class="note">${escaped(item.text)}</p>\n`;
    case 'other':
      return codeBlock(JSON.stringify(item.part, undefined, 2), 'json');
  }
}
