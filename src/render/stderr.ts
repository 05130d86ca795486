import type { AppError } from '../core/error.ts';
import type { Source } from '../core/event.ts';
import type { Out } from '../core/io.ts';
import { filterTerminal, terminalFilter } from '../core/text/terminal.ts';
import type { ToolLine } from './tool-line.ts';

/** What the text format says to the person. Whole lines, but for thoughts, which stream. */
export interface Stderr {
  /** Whether a thought has left the cursor in the middle of a line. */
  readonly isMidLine: boolean;
  notice(message: string): Promise<void>;
  /** What a tool did. */
  tool(line: ToolLine): Promise<void>;
  /** What an answer is founded on, numbered; nothing if there is nothing. */
  sources(sources: readonly Source[]): Promise<void>;
  usage(line: string): Promise<void>;
  error(error: AppError): Promise<void>;
  thought(delta: string): Promise<void>;
  /** Ends the line of a thought that was left open. */
  endThought(): Promise<void>;
}

const GREEN = ['\u001b[32m', '\u001b[39m'] as const;
const RED = ['\u001b[31m', '\u001b[39m'] as const;
const DIM = ['\u001b[2m', '\u001b[22m'] as const;

interface StderrOptions {
  /** Passes thoughts as they are, even to a terminal. */
  readonly rawThoughts?: boolean;
  /** What stands before a notice; `gmn: ` unless given. */
  readonly opening?: string;
}

/** Outside strings are made harmless if stderr is a terminal, styled if it may be. */
export function stderr(err: Out, { rawThoughts = false, opening = 'gmn: ' }: StderrOptions = {}): Stderr {
  const clean = (text: string): string => (err.isTerminal ? filterTerminal(text) : text);
  const paint = (text: string, [on, off]: readonly [string, string]): string =>
    err.isStyled && text !== '' ? `${on}${text}${off}` : text;
  const thoughts = terminalFilter();
  let isThoughtOpen = false;
  return {
    get isMidLine() {
      return isThoughtOpen;
    },
    notice: (message) => err.write(`${opening}${clean(message)}\n`),
    tool: ({ isGood, text }) => err.write(`${isGood ? paint('✓', GREEN) : paint('✗', RED)} ${text}\n`),
    async sources(sources) {
      const lines = sources.map(({ title, uri }, index) => `[${index + 1}] ${title} ${uri}\n`);
      if (lines.length > 0) await err.write(clean(`\nSources:\n${lines.join('')}`));
    },
    usage: (line) => err.write(`${paint(clean(line), DIM)}\n`),
    error: (error) => err.write(paint(clean(headline(error)), RED) + clean(nextStep(error) + heldBack(error))),
    thought(delta) {
      const shown = err.isTerminal && !rawThoughts ? thoughts.filter(delta) : delta;
      if (shown !== '') isThoughtOpen = !shown.endsWith('\n');
      return err.write(paint(shown, DIM));
    },
    async endThought() {
      thoughts.flush();
      if (!isThoughtOpen) return;
      isThoughtOpen = false;
      await err.write('\n');
    },
  };
}

/** Someone who pressed Ctrl+C knows what happened: no alarm. */
function headline({ fault, message }: AppError): string {
  const isStopped = fault === 'interrupted' || fault === 'terminated' || fault === 'hangup';
  return isStopped ? message : `Error: ${message}`;
}

/** What stdout was not to have is not lost: the person may still want to read it. */
function heldBack({ answer }: AppError): string {
  return answer ? `What the model said:\n${answer}${answer.endsWith('\n') ? '' : '\n'}` : '';
}

function nextStep({ hint, guide = hint }: AppError): string {
  return guide === undefined ? '\n' : `\n${guide}\n`;
}
