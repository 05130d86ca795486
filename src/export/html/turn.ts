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

/** One turn, piece by piece: the prompt as it was typed, then what happened, in order. */
export function* turnHtml({ number, at, prompt, steps, model, usage }: Turn): Generator<string, void> {
  const id = `turn-${number}`;
  const time = `<time datetime="${timeCode(at)}">${timeText(at)}</time>`;
  yield `<article class="turn" id="${id}">\n<h2><a href="#${id}">${count(number)}</a> ${time}</h2>\n`;
  if (prompt.length > 0) {
    yield sectionStart('prompt', 'Prompt');
    // What people type is no Markdown, even if it looks like it.
    for (const item of prompt) {
      if (item.type === 'text') yield foldedText(item.text, 'div');
      else yield* stepHtml(item);
    }
    yield '</section>\n';
  }
  if (steps.length > 0) {
    yield sectionStart('answer', model ?? 'Answer');
    for (const item of steps) yield* stepHtml(item);
    const tokens = tokenLine(usage);
    yield `${tokens === '' ? '' : `<p class="tokens">${escaped(tokens)}</p>\n`}</section>\n`;
  }
  yield '</article>\n';
}

function sectionStart(kind: 'prompt' | 'answer', title: string): string {
  return `<section class="${kind}">\n<h3>${escaped(title)}</h3>\n`;
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
    case 'media':
      return yield mediaHtml(item);
    case 'call':
    case 'answer':
      return yield toolHtml(item);
    case 'note':
      return yield `<p class="note">${escaped(item.text)}</p>\n`;
    case 'other':
      return yield* codeBlock(JSON.stringify(item.part, undefined, 2), 'json');
  }
}
