import { fillTemplate, listPlaceholders } from '../../app/template.ts';
import type { Template } from '../../config/templates.ts';
import { AppError } from '../../core/error.ts';
import { findNearestNames } from '../../core/text/names.ts';
import { quoteForShell } from '../../core/text/quote.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { COLUMN_NAME, type RowInput } from '../rows/row.ts';

export interface RowPromptOptions {
  /** Of -p. They go before the prompt of every row, unless they have a place for it. */
  readonly words: string | undefined;
  readonly template: Template | undefined;
  readonly params: readonly string[];
}

export type RowPrompt = ReturnType<typeof createRowPrompt>;

/** What the rows are asked: -p and --template, with their placeholders filled from each row. Throws AppError `usage`. */
export function createRowPrompt({ words, template, params }: RowPromptOptions) {
  if (template !== undefined) checkTemplate(template);
  const ofWords = words === undefined ? undefined : toPart('-p', toWordsTemplate(words), COLUMN_NAME);
  const ofTemplate = template === undefined ? undefined : toPart(`the template ${sanitize(template.name)}`, template);
  const parts = [ofWords, ofTemplate].filter((part) => part !== undefined);
  const isPlace = (name: string): boolean => parts.some(({ spelled }) => spelled.includes(name));
  const given = new Set(params.map((param) => param.split('=', 1)[0] ?? ''));
  checkParams(given, parts);

  const hasNoPlace = ({ contents }: RowInput): boolean => contents !== undefined && ofTemplate !== undefined;
  const check = (input: RowInput): void => {
    if (parts.length === 0 || hasNoPlace(input)) return;
    const { prompt, params: fields } = input;
    const isKnown = (name: string): boolean =>
      fields.has(name) || given.has(name) || (name === 'prompt' && prompt !== undefined);
    for (const {
      title,
      places,
      template: { defaults },
    } of parts) {
      const missing = places.find((name) => !isKnown(name) && !defaults.has(name));
      if (missing !== undefined) throw missingColumnError(title, missing, input);
    }
    if (!hasOwnPrompt(input) && ![...fields.keys()].some(isPlace)) throw unusedColumnsError(input, { words, template });
  };

  const fill = ({ template: body, places }: PromptPart, { prompt, params: fields }: RowInput): Promise<string> =>
    fillTemplate(body, {
      params: params.filter((param) => places.includes(param.split('=', 1)[0] ?? '')),
      fields,
      words: prompt,
      stdin: async () => fields.get('stdin') ?? '',
      run: () => Promise.reject(unsafeTemplateError(body)),
      read: () => Promise.reject(unsafeTemplateError(body)),
      quote: (text) => text,
    });

  return {
    /** Whether a column is part of the prompt. */
    isPlace,
    /** Throws AppError `usage` for a row that lacks a column, or has none in the prompt. */
    check,
    /** Undefined if there is no text to ask. Values of the row are inserted as they are. Throws AppError `usage`. */
    async toPromptText(input: RowInput): Promise<string | undefined> {
      if (hasNoPlace(input)) throw contentsError();
      check(input);
      const own = ofTemplate === undefined ? input.prompt : await fill(ofTemplate, input);
      if (ofWords === undefined) return own;
      if (ofTemplate === undefined) return fill(ofWords, input);
      const isPlaced = ofWords.places.includes('prompt');
      return `${await fill(ofWords, isPlaced ? input : { ...input, prompt: undefined })}\n\n${own}`;
    },
  };
}

interface PromptPart {
  /** For messages. */
  readonly title: string;
  readonly template: Template;
  /** The placeholders that must have a value. */
  readonly places: readonly string[];
  /** All of them: a row of JSON may have fields of any name. */
  readonly spelled: readonly string[];
}

function toPart(title: string, template: Template, name?: RegExp): PromptPart {
  const list = (pattern?: RegExp): readonly string[] =>
    template.kind === 'markdown' ? listPlaceholders(template, pattern) : [];
  return { title, template, places: list(name), spelled: list(/./) };
}

function toWordsTemplate(body: string): Template {
  return { name: '-p', file: '', kind: 'markdown', body, defaults: new Map() };
}

/** Rows that only name a model or a system instruction are there to compare these. */
function hasOwnPrompt({ prompt, contents, files = [], model, system, params }: RowInput): boolean {
  if (prompt !== undefined || contents !== undefined || files.length > 0) return true;
  const others = [...params.keys()].filter((name) => !SETTINGS.includes(name) && name !== 'id');
  return others.length === 0 && (model !== undefined || system !== undefined);
}

const SETTINGS: readonly string[] = ['model', 'system'];

/** Rows are data: a template must not run a command or read a file because of them. Throws AppError `usage`. */
function checkTemplate(template: Template): void {
  const { kind, body, name } = template;
  if (kind === 'command' && /[!@]\{/.test(body)) throw unsafeTemplateError(template);
  if (kind === 'markdown' && listPlaceholders(template).includes('stdin')) {
    throw new AppError('usage', `the template ${name} wants stdin, which rows do not have`, {
      hint: 'Use {{prompt}} or a field of the rows in its place.',
    });
  }
}

function checkParams(given: ReadonlySet<string>, parts: readonly PromptPart[]): void {
  const stray = [...given].find((name) => !parts.some(({ places }) => places.includes(name)));
  if (stray === undefined) return;
  const titles = parts.map(({ title }) => title).join(' and ');
  if (titles === '') {
    throw new AppError('usage', '--param needs --template, or a placeholder in -p', {
      hint: 'Example: --template translate --param to=French',
    });
  }
  throw new AppError('usage', `--param: ${titles} has no {{${sanitize(stray)}}}`, {
    hint: 'Put the placeholder where the value belongs, or leave the parameter out.',
  });
}

function unsafeTemplateError({ name }: Template): AppError {
  return new AppError(
    'usage',
    `the template ${name} runs commands or reads files (!{…}, @{…}), which a batch does not do`,
    {
      hint: 'Use a template without them; files of a row are named in its "files".',
    },
  );
}

function contentsError(): AppError {
  return new AppError('usage', 'the row has "contents", in which --template has no place', {
    hint: 'Use -p for words before its last question, or give the row a "prompt" instead.',
  });
}

function missingColumnError(title: string, name: string, input: RowInput): AppError {
  const columns = listColumns(input);
  const [near] = findNearestNames(name, columns);
  const message = `${title} has {{${sanitize(name)}}}, and the row has no such column; ${formatRowColumns(columns)}`;
  const [only] = columns;
  const other = columns.length === 1 && only === 'prompt' ? 'The text of a row is {{prompt}}.' : undefined;
  return new AppError('usage', message, {
    hint:
      near === undefined
        ? (other ?? `Name one of them; or, for the same value in all rows: --param ${quoteForShell(`${name}=…`)}`)
        : `Did you mean {{${sanitize(near)}}}?`,
  });
}

function unusedColumnsError(
  input: RowInput,
  { words, template }: Pick<RowPromptOptions, 'words' | 'template'>,
): AppError {
  const columns = listColumns(input);
  const message = `no column of the row is in the prompt, so all rows would be asked the same; ${formatRowColumns(columns)}`;
  const place = `{{${sanitize(chooseColumn(input) ?? 'prompt')}}}`;
  if (words === undefined) {
    const hint = `Add a column to the template ${sanitize(template?.name ?? '')}, for example ${place}`;
    return new AppError('usage', message, { hint });
  }
  // Other programs take one brace.
  const doubled = words.replaceAll(/\{([^{}]+)\}/g, (whole, name) => (columns.includes(name) ? `{${whole}}` : whole));
  const example = doubled === words ? `${shorten(words)} ${place}` : shorten(doubled);
  return new AppError('usage', message, {
    hint: `Name a column where its value belongs: -p ${quoteForShell(example)}`,
  });
}

function listColumns({ prompt, params }: RowInput): readonly string[] {
  return [...params.keys(), ...(prompt === undefined ? [] : ['prompt'])];
}

const MAX_COLUMNS = 20;

function formatRowColumns(columns: readonly string[]): string {
  if (columns.length === 0) return 'it has none';
  const more = columns.length > MAX_COLUMNS ? `, and ${columns.length - MAX_COLUMNS} more` : '';
  return `its columns: ${columns.slice(0, MAX_COLUMNS).map(sanitize).join(', ')}${more}`;
}

/** The longest value is most likely what the question is about. */
function chooseColumn({ params }: RowInput): string | undefined {
  const columns = [...params]
    .filter(([name]) => name !== 'id')
    .sort(([, left], [, right]) => right.length - left.length);
  return columns[0]?.[0] ?? [...params.keys()][0];
}

const MAX_WORDS = 60;

function shorten(words: string): string {
  const line = sanitize(words).replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}
