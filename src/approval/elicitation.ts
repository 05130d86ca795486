import { createSerial } from '../core/async.ts';
import type { Elicit, Elicitation, ElicitationAnswer } from '../core/elicitation.ts';
import type { Out } from '../core/io.ts';
import { filterStrings, isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import { yieldToEvents } from '../platform/runtime/clock.ts';
import { CONTINUED, INTERRUPT, OTHER_KEY, openTty, type Tty } from '../platform/terminal/tty.ts';
import type { RunPaused } from './person.ts';
import { questionView } from './view.ts';

const CANCEL: ElicitationAnswer = { action: 'cancel' };
const DECLINE: ElicitationAnswer = { action: 'decline' };
const KEYS: ReadonlySet<string> = new Set(['y', 'n', '\r', '\n', '\u001b', '\u0004', OTHER_KEY]);

/** Never opens a URL. */
export const acceptDefaults: Elicit = async (question) =>
  question.kind === 'form' ? { action: 'accept', content: collectDefaults(question.schema) } : DECLINE;

/**
 * Asks one question at a time. Undefined without a terminal on stderr, so that the capability is not announced to
 * servers.
 */
export function createTerminalElicit(err: Out, runPaused: RunPaused): Elicit | undefined {
  if (!err.isTerminal) return undefined;
  const inOrder = createSerial();
  return (question, signal) => inOrder(() => runPaused(() => askElicitation(question, err, signal)));
}

async function askElicitation(question: Elicitation, err: Out, signal: AbortSignal): Promise<ElicitationAnswer> {
  signal.throwIfAborted();
  const tty = openTty();
  if (tty === undefined) return CANCEL;
  try {
    return await askOnTerminal(tty, question, err, signal);
  } finally {
    tty.close();
  }
}

async function askOnTerminal(
  tty: Tty,
  question: Elicitation,
  err: Out,
  signal: AbortSignal,
): Promise<ElicitationAnswer> {
  const { kind, server, message } = question;
  const address = kind === 'url' ? `\nIt wants you to open: ${question.url}` : '';
  await err.write(await formatQuestion(`MCP server ${server} asks`, message + address, tty, signal));
  const wanted = kind === 'url' ? 'Done?' : 'Answer?';
  let key = CONTINUED;
  while (key === CONTINUED || key === OTHER_KEY) {
    if (key === OTHER_KEY) await err.write('\n');
    key = await tty.key(KEYS, () => err.write(`╰ ${wanted} [y]es [n]o › `), signal);
  }
  await err.write(`${key === 'y' ? 'y' : 'n'}\n`);
  if (key === INTERRUPT) return CANCEL;
  if (key !== 'y') return DECLINE;
  return kind === 'url' ? { action: 'accept', content: {} } : fillForm(question, { tty, err, signal });
}

interface FormContext {
  readonly tty: Tty;
  readonly err: Out;
  readonly signal: AbortSignal;
}

async function fillForm(
  { server, schema, findFault }: Extract<Elicitation, { kind: 'form' }>,
  context: FormContext,
): Promise<ElicitationAnswer> {
  const content: Record<string, FieldValue> = {};
  for (const field of toFields(schema)) {
    const value = await askField(field, { server, findFault }, context);
    if (value === INTERRUPT) return CANCEL;
    if (value !== undefined) content[field.name] = value;
  }
  return { action: 'accept', content };
}

/** Asks until the answer is valid. An empty answer means the default, or nothing for an optional field. */
async function askField(
  field: Field,
  { server, findFault }: Pick<Extract<Elicitation, { kind: 'form' }>, 'server' | 'findFault'>,
  { tty, err, signal }: FormContext,
): Promise<FieldValue | undefined> {
  let label = field.label;
  for (;;) {
    await err.write(await formatQuestion(`MCP server ${server} asks for`, label, tty, signal));
    const answer = await tty.line(`╰ to ${sanitize(server).slice(0, MAX_NAME)} › `, signal);
    if (answer === INTERRUPT) return INTERRUPT;
    const isEmpty = answer.trim() === '';
    if (isEmpty && field.fallback === undefined && !field.isRequired) return undefined;
    const value = isEmpty && field.fallback !== undefined ? field.fallback : field.parse(answer);
    const fault = value === undefined ? field.wanted : await findFault?.(field.name, value);
    if (value !== undefined && fault === undefined) return value;
    label = `${sanitize(fault ?? '').slice(0, MAX_FAULT)}\n${field.label}`;
  }
}

/** A longer question would push its first row, which names the server, out of the window. */
const MAX_ROWS = 20;
const MAX_CHARS = 8000;
const MAX_NAME = 30;
const MAX_FAULT = 300;

/** Frames every row: an unframed row could pass for a question of gmn itself. */
async function formatQuestion(
  title: string,
  message: string,
  { columns, rows }: Tty,
  signal: AbortSignal,
): Promise<string> {
  const text = message.slice(0, MAX_CHARS).replaceAll('\r\n', '\n');
  const pause = (): Promise<void> => yieldToEvents(signal);
  const view = await questionView(title, { kind: 'text', text }, { columns, isStyled: false, pause });
  const room = Math.max(Math.min(MAX_ROWS, rows - view.title.length - 2), 1);
  const more = view.body.length - room;
  const cut = more > 0 || text.length < message.length ? ['┆ … (cut)'] : [];
  return `${[...view.title, ...view.body.slice(0, room), ...cut].join('\n')}\n`;
}

type FieldValue = Extract<ElicitationAnswer, { action: 'accept' }>['content'][string];

interface Field {
  readonly name: string;
  readonly label: string;
  readonly isRequired: boolean;
  readonly fallback?: FieldValue;
  /** What an answer must be that `parse` does not take. */
  readonly wanted: string;
  parse(answer: string): FieldValue | undefined;
}

const MAX_FIELDS = 50;

/** Never throws. */
export function toFields({ properties, required }: JsonObject): readonly Field[] {
  if (!isObject(properties)) return [];
  const names = isList(required) ? required : [];
  return Object.entries(properties)
    .slice(0, MAX_FIELDS)
    .map(([name, value]) => toField(name, isObject(value) ? value : {}, names.includes(name)));
}

const FIELD_TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'array'];

/** Whether it is a form as MCP has them: an object of plain fields. */
export function isPlainForm({ type = 'object', properties = {} }: JsonObject): boolean {
  const fields = isObject(properties) ? Object.values(properties) : [undefined];
  return type === 'object' && fields.every((field) => isObject(field) && FIELD_TYPES.includes(field.type));
}

export function collectDefaults(schema: JsonObject): Readonly<Record<string, FieldValue>> {
  return Object.fromEntries(
    toFields(schema).flatMap(({ name, fallback }) => (fallback === undefined ? [] : [[name, fallback] as const])),
  );
}

function toField(name: string, schema: JsonObject, isRequired: boolean): Field {
  const fallback = toFieldValue(schema.default);
  const choices = listChoices(schema.type === 'array' && isObject(schema.items) ? schema.items : schema);
  const title = typeof schema.title === 'string' && schema.title !== '' ? schema.title : name;
  const notes = [
    typeof schema.description === 'string' ? schema.description : '',
    choices.length > 0 ? choices.map(({ value, title: shown }) => shown ?? value).join(' | ') : describeType(schema),
    fallback === undefined ? '' : `Enter for ${String(fallback)}`,
    isRequired || fallback !== undefined ? '' : 'Enter to skip',
  ].filter((note) => note !== '');
  return {
    name,
    label: [title, ...(notes.length === 0 ? [] : [`(${notes.join('; ')})`])]
      .map((text) => sanitize(text).slice(0, 500))
      .join(' '),
    isRequired,
    fallback,
    wanted: describeWanted(schema, choices),
    parse: (answer) => interpretAnswer(answer.trim(), schema, choices),
  };
}

function describeWanted(schema: JsonObject, choices: readonly Choice[]): string {
  if (choices.length > 0)
    return schema.type === 'array' ? 'Choose from these, separated by commas.' : 'Choose one of these.';
  if (schema.type === 'integer') return 'This must be a whole number.';
  const type = describeType(schema);
  return type === '' ? 'This needs an answer.' : `This must be ${type}.`;
}

function describeType({ type }: JsonObject): string {
  if (type === 'boolean') return 'yes or no';
  return type === 'number' || type === 'integer' ? 'a number' : '';
}

interface Choice {
  readonly value: string;
  readonly title?: string;
}

function listChoices(schema: JsonObject): readonly Choice[] {
  const { enum: values, enumNames, oneOf, anyOf } = schema;
  const titled = [oneOf, anyOf].find(isList);
  if (titled !== undefined) {
    return titled.flatMap((item) => {
      if (!isObject(item) || typeof item.const !== 'string') return [];
      return [{ value: item.const, title: typeof item.title === 'string' ? item.title : undefined }];
    });
  }
  if (!isList(values)) return [];
  return values.flatMap((value, index) => {
    const title = isList(enumNames) ? enumNames[index] : undefined;
    return typeof value === 'string' ? [{ value, title: typeof title === 'string' ? title : undefined }] : [];
  });
}

function interpretAnswer(answer: string, schema: JsonObject, choices: readonly Choice[]): FieldValue | undefined {
  if (schema.type === 'array') {
    const picked = answer.split(',').map((word) => findChoice(word.trim(), choices));
    return picked.every((word) => word !== undefined) ? picked : undefined;
  }
  if (choices.length > 0) return findChoice(answer, choices);
  if (schema.type === 'boolean') return toBoolean(answer.toLowerCase());
  if (schema.type !== 'number' && schema.type !== 'integer') return answer === '' ? undefined : answer;
  const number = answer === '' ? Number.NaN : Number(answer);
  const isValid = schema.type === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isValid ? number : undefined;
}

function findChoice(answer: string, choices: readonly Choice[]): string | undefined {
  return choices.find(({ value, title }) => value === answer || title === answer)?.value;
}

function toBoolean(answer: string): boolean | undefined {
  if (['y', 'yes', 'true'].includes(answer)) return true;
  return ['n', 'no', 'false'].includes(answer) ? false : undefined;
}

function toFieldValue(value: JsonValue | undefined): FieldValue | undefined {
  if (isList(value)) return filterStrings(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}
