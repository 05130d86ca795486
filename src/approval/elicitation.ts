import type { CallProgress } from '../app/servers/progress.ts';
import type { App } from '../core/app.ts';
import type { Out } from '../core/io.ts';
import { visible } from '../core/text/terminal.ts';
import type { Elicit, Elicitation, ElicitationAnswer } from '../mcp/client/types.ts';
import { yieldToEvents } from '../platform/runtime/event-loop.ts';
import { CONTINUED, INTERRUPT, openTty, type Tty } from '../platform/terminal/tty.ts';
import { defaultsOf, type Field, type FieldValue, fieldsOf } from './mcp-form.ts';
import { questionView } from './view.ts';

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
  const { kind, server, message } = question;
  const address = kind === 'url' ? `\nIt wants you to open: ${question.url}` : '';
  await err.write(await framed(`MCP server ${server} asks`, message + address, tty, signal));
  const wanted = kind === 'url' ? 'Done?' : 'Answer?';
  let key = CONTINUED;
  while (key === CONTINUED) key = await tty.key(KEYS, () => err.write(`╰ ${wanted} [y]es [n]o › `), signal);
  await err.write(`${key === 'y' ? 'y' : 'n'}\n`);
  if (key === INTERRUPT) return CANCEL;
  if (key !== 'y') return DECLINE;
  return kind === 'url' ? { action: 'accept', content: {} } : filledIn(question, { tty, err, signal });
}

interface Asking {
  readonly tty: Tty;
  readonly err: Out;
  readonly signal: AbortSignal;
}

async function filledIn(
  { server, schema }: Extract<Elicitation, { kind: 'form' }>,
  asking: Asking,
): Promise<ElicitationAnswer> {
  const content: Record<string, FieldValue> = {};
  for (const field of fieldsOf(schema)) {
    const value = await fieldValue(field, server, asking);
    if (value === INTERRUPT) return CANCEL;
    if (value !== undefined) content[field.name] = value;
  }
  return { action: 'accept', content };
}

/** Asks until the answer means something; nothing typed is the default, or nothing where the field may be left out. */
async function fieldValue(field: Field, server: string, { tty, err, signal }: Asking): Promise<FieldValue | undefined> {
  for (;;) {
    await err.write(await framed(`MCP server ${server} asks for`, field.label, tty, signal));
    const answer = await tty.line(`╰ to ${visible(server).slice(0, MAX_NAME)} › `, signal);
    if (answer === INTERRUPT) return INTERRUPT;
    if (answer.trim() === '' && (field.fallback !== undefined || !field.isRequired)) return field.fallback;
    const value = field.parse(answer);
    if (value !== undefined) return value;
  }
}

/** More of a question would push its beginning, where the server is named, out of the window. */
const MAX_ROWS = 20;
const MAX_CHARS = 8000;
/** Of a server's name, beside what is typed. */
const MAX_NAME = 30;

/** A server's words, every row of them behind a frame: a row without one would be taken for a question of gmn's own. */
async function framed(title: string, words: string, { columns, rows }: Tty, signal: AbortSignal): Promise<string> {
  const text = words.slice(0, MAX_CHARS).replaceAll('\r\n', '\n');
  const pause = (): Promise<void> => yieldToEvents(signal);
  const view = await questionView(title, { kind: 'text', text }, { columns, isStyled: false, pause });
  const room = Math.max(Math.min(MAX_ROWS, rows - view.title.length - 2), 1);
  const more = view.body.length - room;
  const cut = more > 0 || text.length < words.length ? ['┆ … and more of it'] : [];
  return `${[...view.title, ...view.body.slice(0, room), ...cut].join('\n')}\n`;
}
