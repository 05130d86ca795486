import type { App } from '../core/app.ts';
import type { Out } from '../core/io.ts';
import { visible } from '../core/visible.ts';
import type { Elicit, Elicitation, ElicitationAnswer } from '../mcp/client/connection.ts';
import { CONTINUED, INTERRUPT, openTty, type Tty } from '../platform/tty.ts';
import { defaultsOf, type Field, type FieldValue, fieldsOf } from './mcp-form.ts';
import type { CallProgress } from './mcp-progress.ts';
import { visibleLines } from './mcp-view.ts';

const CANCEL: ElicitationAnswer = { action: 'cancel' };
const DECLINE: ElicitationAnswer = { action: 'decline' };
const KEYS: ReadonlySet<string> = new Set(['y', 'n', '\r', '\n', '\u001b', '\u0004']);

/** Answers forms with their own defaults, and opens no address. */
export const acceptDefaults: Elicit = async (question) =>
  question.kind === 'form' ? { action: 'accept', content: defaultsOf(question.schema) } : DECLINE;

/**
 * Asks the person on the terminal what a server wants to know, one question at a time; under the key `elicit`, and not
 * there at all if stderr is no terminal, so that servers are told there is nobody to ask.
 */
export function terminalElicit({ io }: Pick<App, 'io'>, lend: CallProgress['lend']): { readonly elicit?: Elicit } {
  if (!io.err.isTerminal) return {};
  let last: Promise<unknown> = Promise.resolve();
  const elicit: Elicit = (question, signal) => {
    const answer = last.then(() => lend(() => asked(question, io.err, signal)));
    last = answer.catch(() => undefined);
    return answer;
  };
  return { elicit };
}

async function asked(question: Elicitation, err: Out, signal: AbortSignal): Promise<ElicitationAnswer> {
  signal.throwIfAborted();
  const tty = openTty();
  if (tty === undefined) return CANCEL;
  try {
    return await askedOn(tty, question, err, signal);
  } finally {
    tty.close();
  }
}

async function askedOn(tty: Tty, question: Elicitation, err: Out, signal: AbortSignal): Promise<ElicitationAnswer> {
  const lines = visibleLines(question.message).split('\n').slice(0, 20);
  const address = question.kind === 'url' ? [`│ It wants you to open: ${visible(question.url)}`] : [];
  const title = `╭ MCP server ${visible(question.server)} asks`;
  await err.write(`${[title, ...lines.map((line) => `│ ${line}`), ...address].join('\n')}\n`);
  const wanted = question.kind === 'url' ? 'Done?' : 'Answer?';
  let key = CONTINUED;
  while (key === CONTINUED) key = await tty.key(KEYS, () => err.write(`╰ ${wanted} [y]es [n]o › `), signal);
  await err.write(`${key === 'y' ? 'y' : 'n'}\n`);
  if (key === INTERRUPT) return CANCEL;
  if (key !== 'y') return DECLINE;
  return question.kind === 'url' ? { action: 'accept', content: {} } : filledIn(fieldsOf(question.schema), tty, signal);
}

async function filledIn(fields: readonly Field[], tty: Tty, signal: AbortSignal): Promise<ElicitationAnswer> {
  const content: Record<string, FieldValue> = {};
  for (const field of fields) {
    const value = await fieldValue(field, tty, signal);
    if (value === INTERRUPT) return CANCEL;
    if (value !== undefined) content[field.name] = value;
  }
  return { action: 'accept', content };
}

/** Asks until the answer means something; nothing typed is the default, or nothing where the field may be left out. */
async function fieldValue(field: Field, tty: Tty, signal: AbortSignal): Promise<FieldValue | undefined> {
  for (;;) {
    const answer = await tty.line(`  ${field.label}: `, signal);
    if (answer === INTERRUPT) return INTERRUPT;
    if (answer.trim() === '' && (field.fallback !== undefined || !field.isRequired)) return field.fallback;
    const value = field.parse(answer);
    if (value !== undefined) return value;
  }
}
