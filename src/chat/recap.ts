import { beginsTurn, findToolError, type StoredContent } from '../core/content.ts';
import type { KeptSetup, Session } from '../core/session.ts';
import { plural } from '../core/text/format.ts';
import { sanitize, stripControls } from '../core/text/terminal.ts';
import { measureWidth } from '../core/text/width.ts';
import { loadChalk, openMarkdown } from '../render/lazy.ts';
import { clipText } from '../render/spinner.ts';
import { deriveTitle } from '../session/record.ts';
import { wrapWords } from './rows.ts';
import type { View } from './view.ts';

export function formatPromptMark({
  isPlain,
  isStyled,
}: {
  readonly isPlain: boolean;
  readonly isStyled: boolean;
}): string {
  if (isPlain) return '> ';
  return isStyled ? '\u001b[1;35m❯ \u001b[0m' : '❯ ';
}

/** What a session brings back; `model` is absent if there is nothing to say about it. */
export function restoredNotice({ model, ...texts }: KeptSetup): string | undefined {
  const hasText = [texts.system, texts.systemText, texts.appendText].some((text) => text !== undefined);
  const items = [
    ...(model === undefined ? [] : [`the model ${sanitize(model)}`]),
    ...(hasText ? ['its system instruction (/system shows it)'] : []),
  ];
  return items.length === 0 ? undefined : `As before in this session: ${items.join(' and ')}.`;
}

export async function showUnanswered({ unanswered }: Session, view: View): Promise<void> {
  if (unanswered !== undefined) await view.showNotice('Its last prompt had no answer: /retry asks it again.');
}

export async function showRecap(session: Session, { columns, isPlain, isQuiet, io: { err } }: View): Promise<void> {
  if (isQuiet) return;
  const { isStyled, hasLinks = false } = err;
  const recap = await formatRecap(session, { columns, isPlain, isStyled, hasLinks });
  if (recap !== undefined) await err.write(`${recap}\n\n`);
}

const INDENT = '  ';
const MAX_TURNS = 2;
const MAX_ANSWER_ROWS = 4;
/** An answer may have any length; a recap shows only its beginning. */
const MAX_ANSWER_CHARS = 4000;

interface RecapOptions {
  readonly columns: number;
  /** Answers are shown as they were written, not laid out. */
  readonly isPlain: boolean;
  readonly isStyled: boolean;
  readonly hasLinks: boolean;
}

/** The last turns of a session, shortened: where the conversation was left. Undefined if it has none. */
async function formatRecap(
  { contents }: Pick<Session, 'contents'>,
  options: RecapOptions,
): Promise<string | undefined> {
  const starts = contents.flatMap((content, index) => (beginsTurn(content) ? [index] : []));
  const shown = starts.slice(-MAX_TURNS);
  if (shown.length === 0) return undefined;
  const earlier = starts.length - shown.length;
  const turns = shown.map((start, index) => contents.slice(start, shown[index + 1]));
  return [
    ...(earlier === 0 ? [] : [`… ${plural(earlier, 'earlier turn')}`]),
    ...(await Promise.all(turns.map((turn) => formatRecapTurn(turn, options)))),
  ].join('\n\n');
}

async function formatRecapTurn([prompt, ...rest]: readonly StoredContent[], options: RecapOptions): Promise<string> {
  const question = prompt === undefined ? '' : sanitize(deriveTitle(prompt));
  const parts = rest.flatMap((content) => content.parts);
  const calls = parts.filter((part) => 'functionCall' in part).length;
  const failed = parts.filter((part) => findToolError(part) !== undefined).length;
  const answer = await shortenAnswer(listAnswerTexts(rest), options);
  const rows = [
    ...(calls === 0 ? [] : [`${plural(calls, 'tool call')}${failed === 0 ? '' : ` (${failed} failed)`}`]),
    ...(answer.length === 0 ? ['(no answer)'] : answer),
  ];
  const { bold, dim } = await loadChalk(options.isStyled);
  const [first = '', ...others] = wrapWords(question, options.columns - INDENT.length);
  return [
    formatPromptMark(options) + bold(first),
    ...others.map((row) => INDENT + bold(row)),
    ...rows.map((row) => dim(row)),
  ].join('\n');
}

function listAnswerTexts(contents: readonly StoredContent[]): readonly string[] {
  const replies = contents.filter(({ role }) => role === 'model');
  return replies.map(joinAnswer);
}

export function joinAnswer({ parts }: StoredContent): string {
  return parts.map((part) => ('text' in part && part.thought !== true ? part.text : '')).join('');
}

async function shortenAnswer(texts: readonly string[], options: RecapOptions): Promise<readonly string[]> {
  // Text before and after a tool call belongs to different Markdown blocks.
  const text = texts.join(options.isPlain ? '' : '\n\n');
  const start = stripControls(text.slice(0, MAX_ANSWER_CHARS).toWellFormed()).trim();
  const lines = options.isPlain ? wrapLines(start, options.columns) : await layOutLines(start, options);
  const rows = lines.filter((line) => line.trim() !== '');
  if (rows.length <= MAX_ANSWER_ROWS && text.length <= MAX_ANSWER_CHARS) return rows;
  return [...rows.slice(0, MAX_ANSWER_ROWS), '…'];
}

function wrapLines(text: string, columns: number): readonly string[] {
  const lines = text.replaceAll('\t', '    ').split('\n');
  return lines.flatMap((line) => wrapWords(line, columns));
}

/** Laid out like the answer itself, but a line too wide for the window is cut. */
async function layOutLines(text: string, { columns, isStyled, hasLinks }: RecapOptions): Promise<readonly string[]> {
  const page = await openMarkdown({ columns: () => columns, isStyled, hasLinks });
  const lines = ((await page.push(text)) + (await page.end())).replaceAll('\t', '    ').split('\n');
  return lines.map((line) => (measureWidth(line) <= columns ? line : clipText(stripControls(line), columns)));
}
