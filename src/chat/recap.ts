import { beginsTurn, type StoredContent } from '../core/content.ts';
import type { Session } from '../core/session.ts';
import { plural } from '../core/text/format.ts';
import { sanitize, stripControls } from '../core/text/terminal.ts';
import { deriveTitle } from '../session/record.ts';
import { wrapWords } from './chat.ts';

export function promptMark({ isPlain, isStyled }: { readonly isPlain: boolean; readonly isStyled: boolean }): string {
  if (isPlain) return '> ';
  return isStyled ? '\u001b[1;36m❯ \u001b[0m' : '❯ ';
}

const INDENT = '  ';
const MAX_TURNS = 2;
const MAX_ANSWER_ROWS = 4;
/** An answer may have any length; a recap shows only its beginning. */
const MAX_ANSWER_CHARS = 4000;

interface RecapOptions {
  readonly columns: number;
  readonly isPlain: boolean;
  readonly isStyled: boolean;
}

/** The last turns of a session, shortened: where the conversation was left. Undefined if it has none. */
export function formatRecap({ contents }: Pick<Session, 'contents'>, options: RecapOptions): string | undefined {
  const starts = contents.flatMap((content, index) => (beginsTurn(content) ? [index] : []));
  const shown = starts.slice(-MAX_TURNS);
  if (shown.length === 0) return undefined;
  const earlier = starts.length - shown.length;
  const turns = shown.map((start, index) => contents.slice(start, shown[index + 1]));
  return [
    ...(earlier === 0 ? [] : [`… ${plural(earlier, 'earlier turn')}`]),
    ...turns.map((turn) => formatRecapTurn(turn, options)),
  ].join('\n\n');
}

function formatRecapTurn([prompt, ...rest]: readonly StoredContent[], options: RecapOptions): string {
  const question = prompt === undefined ? '' : sanitize(deriveTitle(prompt));
  const calls = rest.flatMap(({ parts }) => parts).filter((part) => 'functionCall' in part).length;
  const answer = shortenAnswer(joinAnswerTexts(rest), options.columns);
  const rows = [
    ...(calls === 0 ? [] : [plural(calls, 'tool call')]),
    ...(answer.length === 0 ? ['(no answer)'] : answer),
  ];
  const dim = (row: string): string => (options.isStyled && row !== '' ? `\u001b[2m${row}\u001b[22m` : row);
  const [first = '', ...others] = wrapWords(question, options.columns - INDENT.length);
  return [promptMark(options) + first, ...others.map((row) => INDENT + row), ...rows.map(dim)].join('\n');
}

function joinAnswerTexts(contents: readonly StoredContent[]): string {
  const parts = contents.filter(({ role }) => role === 'model').flatMap((content) => content.parts);
  return parts.map((part) => ('text' in part && part.thought !== true ? part.text : '')).join('');
}

function shortenAnswer(text: string, columns: number): readonly string[] {
  const start = stripControls(text.slice(0, MAX_ANSWER_CHARS).toWellFormed()).trim();
  const lines = start.replaceAll('\t', '    ').split('\n');
  const rows = lines.filter((line) => line.trim() !== '').flatMap((line) => wrapWords(line, columns));
  if (rows.length <= MAX_ANSWER_ROWS && text.length <= MAX_ANSWER_CHARS) return rows;
  return [...rows.slice(0, MAX_ANSWER_ROWS), '…'];
}
