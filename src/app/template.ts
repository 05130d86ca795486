import { resolve } from 'node:path';
import {
  type FoundTemplate,
  findTemplates,
  listTemplateDirectories,
  readTemplate,
  type Template,
  toTemplate,
} from '../config/templates.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { findNearestNames } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { findNamedFile } from '../input/named-file.ts';

/** The template of that name, or the file at that path. Throws AppError `usage` or `config`. */
export async function chooseTemplate(wanted: string, app: App): Promise<Template> {
  const found = await findTemplates(await listTemplateDirectories(app));
  const name = wanted.replaceAll(/[\\/]/g, ':');
  const template = found.find((candidate) => candidate.name === name);
  if (template !== undefined) return readUsableTemplate(template, app);
  const file = await findNamedFile(wanted, app);
  if (file?.kind === 'file') return readTemplate({ ...toTemplate(resolve(app.cwd, wanted)), file: file.path });
  const [near] = findNearestNames(
    name,
    found.map((candidate) => candidate.name),
  );
  throw new AppError('usage', `there is no template "${sanitize(wanted)}"`, {
    hint:
      near === undefined ? 'To see what there is, and where: gmn templates list' : `Did you mean ${sanitize(near)}?`,
  });
}

/** Throws AppError `usage` for a template of a folder that is not trusted, or that leads to a file that may hold secrets. */
export async function readUsableTemplate(template: FoundTemplate, app: App): Promise<Template> {
  const { ignored, scope } = template.place;
  if (ignored === undefined) {
    if (scope === 'workspace') await findNamedFile(template.file, app);
    return readTemplate(template);
  }
  throw new AppError('usage', `${template.file} is not used: ${ignored}`, {
    hint: 'To trust the folder, run: gmn trust',
  });
}

export interface TemplateValues {
  readonly params: readonly string[];
  /** Values by any name, which need no placeholder: those of a row. They come before `params`. */
  readonly fields?: ReadonlyMap<string, string>;
  readonly words: string | undefined;
  readonly entry?: string;
  /** Called only if the template has a placeholder for it. */
  readonly stdin: () => Promise<string>;
  /** Runs a command of the template and returns its output. Throws if it is not approved. */
  readonly run: (command: string) => Promise<string>;
  /** Quotes the text as one word of a command line. Throws AppError `usage` if that is not safe. */
  readonly quote: (words: string) => string;
  readonly read: (path: string) => Promise<string>;
}

const PLACEHOLDERS = { markdown: /\{\{([^{}\r\n]+)\}\}/g, command: /\{\{args\}\}|[!@]\{/g } as const;

/** Other names are placeholders only where a field has that name: a template may hold `{{ x.y }}` as text. */
const NAME = /^[A-Za-z_][\w-]*$/;

const ARGS_PLACEHOLDER = '{{args}}';

export function takesStdin({ kind, body }: Template): boolean {
  return kind === 'markdown' && listPlaceholders({ body }).includes('stdin');
}

export function listPlaceholders({ body }: Pick<Template, 'body'>, name = NAME): readonly string[] {
  const places = [...body.matchAll(PLACEHOLDERS.markdown)].map(([, place = '']) => place.trim());
  return [...new Set(places)].filter((place) => name.test(place));
}

/** Fills every placeholder once, so that inserted text is never read as a template. Throws AppError `usage`. */
export function fillTemplate(template: Template, values: TemplateValues): Promise<string> {
  return template.kind === 'markdown' ? fillMarkdown(template, values) : fillCommand(template, values);
}

async function fillMarkdown({ body, name, defaults }: Template, values: TemplateValues): Promise<string> {
  const places = listPlaceholders({ body });
  const params = parseParams(values.params);
  const stray = [...params.keys()].find((key) => !places.includes(key) || key === 'stdin');
  if (stray !== undefined) throw unknownParamError(name, stray, places);
  const { words, fields = [] } = values;
  const texts = new Map([...defaults, ...params, ...fields]);
  if (words !== undefined) texts.set('prompt', words);
  if (places.includes('stdin')) texts.set('stdin', await values.stdin());
  const missing = places.find((place) => !texts.has(place));
  if (missing !== undefined) throw missingValueError(name, missing, values.entry);
  const text = body.replace(PLACEHOLDERS.markdown, (whole, place: string) => texts.get(place.trim()) ?? whole);
  return places.includes('prompt') ? text : appendArguments(text, words);
}

/** As in the official CLI: files come before commands, and without `{{args}}` the whole entry is appended. */
async function fillCommand({ body, name }: Template, values: TemplateValues): Promise<string> {
  const [stray] = parseParams(values.params).keys();
  if (stray !== undefined) throw unknownParamError(name, stray, []);
  const { words = '' } = values;
  const pieces = splitCommandBody(body, name);
  const texts = new Map<CommandPiece, string>();
  for (const piece of pieces) if (piece.kind === 'file') texts.set(piece, await values.read(piece.text.trim()));
  for (const piece of pieces) {
    if (piece.kind !== 'command') continue;
    texts.set(piece, await values.run(insertArguments(piece.text, () => values.quote(words), name).trim()));
  }
  const text = pieces.map((piece) => texts.get(piece) ?? (piece.kind === 'args' ? words : piece.text)).join('');
  if (body.includes(ARGS_PLACEHOLDER)) return text;
  return appendArguments(text, values.words === undefined ? undefined : (values.entry ?? values.words));
}

interface CommandPiece {
  readonly kind: 'text' | 'args' | 'file' | 'command';
  readonly text: string;
}

function splitCommandBody(body: string, name: string): readonly CommandPiece[] {
  const pieces: CommandPiece[] = [];
  let at = 0;
  for (const { 0: mark, index } of body.matchAll(PLACEHOLDERS.command)) {
    if (index < at) continue;
    pieces.push({ kind: 'text', text: body.slice(at, index) });
    at = index + mark.length;
    if (mark === ARGS_PLACEHOLDER) pieces.push({ kind: 'args', text: mark });
    else {
      const text = readBalanced(body, at, name);
      at += text.length + 1;
      pieces.push({ kind: mark === '!{' ? 'command' : 'file', text });
    }
  }
  return [...pieces, { kind: 'text', text: body.slice(at) }];
}

/** Inserts the arguments into a command. Throws AppError `usage` where quoting would not keep them one word. */
function insertArguments(command: string, quote: () => string, name: string): string {
  const [first = '', ...rest] = command.split(ARGS_PLACEHOLDER);
  let filled = first;
  let before = first;
  for (const piece of rest) {
    if (!isSafePlace(before)) throw unsafePlaceError(name);
    filled += quote() + piece;
    // Stands for the inserted word, so that text before and after it is not joined.
    before += `x${piece}`;
  }
  return filled;
}

/** An escaped character, a quoted string, a comment. `$'…'` and `$"…"` have other rules: they match to the end. */
const COMPLETE_TOKENS = /\$['"][\s\S]*|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|(?<![^\s;&|()])#[^\n]*\n?/g;

/** Whether a single-quoted word after this text stays one word of the command. When in doubt, false. */
function isSafePlace(before: string): boolean {
  const bare = before.replace(COMPLETE_TOKENS, (token) => {
    if (token.startsWith('#')) return token.endsWith('\n') ? '\n' : token;
    return token.startsWith('$') || (token.startsWith('"') && !isCompleteString(token)) ? token : 'x';
  });
  const isInside = (open: string, close: string): boolean => bare.lastIndexOf(open) > bare.lastIndexOf(close);
  const line = bare.slice(bare.lastIndexOf('\n') + 1);
  return !(
    /['"]|[\\$]$|(?<!<)<<(?!<)/.test(bare) ||
    /(?:^|[\s;&|()])#/.test(line) ||
    countOccurrences(bare, '`') % 2 === 1 ||
    isInside('((', '))') ||
    isInside('$[', ']')
  );
}

/** False if a command inside the quotes has quotes of its own: then the token is only the first half of the string. */
function isCompleteString(token: string): boolean {
  return (
    countOccurrences(token, '$(') <= countOccurrences(token, ')') &&
    countOccurrences(token, '${') <= countOccurrences(token, '}') &&
    countOccurrences(token, '`') % 2 === 0
  );
}

function countOccurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}

function unsafePlaceError(name: string): AppError {
  const where = 'inside quotes, a comment or similar in a command, where they could end it';
  return new AppError('usage', `the template ${sanitize(name)} puts {{args}} ${where}`, {
    hint: 'gmn quotes the words by itself. Write {{args}} as a word of its own in !{…}, for example: !{grep -n {{args}} notes.txt}',
  });
}

function appendArguments(text: string, words: string | undefined): string {
  return words === undefined ? text : `${text}\n\n${words}`;
}

function readBalanced(body: string, start: number, name: string): string {
  let depth = 1;
  for (let at = start; at < body.length; at += 1) {
    if (body[at] === '{') depth += 1;
    if (body[at] === '}') depth -= 1;
    if (depth === 0) return body.slice(start, at);
  }
  throw new AppError('config', `the template ${sanitize(name)} has a "{" that is never closed`, {
    hint: 'To read it: gmn templates show <name>',
  });
}

function parseParams(params: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    params.map((param) => {
      const [, key, value = ''] = /^([A-Za-z_][\w-]*)=([\s\S]*)$/.exec(param) ?? [];
      if (key !== undefined) return [key, value];
      throw new AppError('usage', `--param: "${sanitize(param)}" is not name=value`, {
        hint: 'Example: --param language=Japanese',
      });
    }),
  );
}

function unknownParamError(template: string, key: string, places: readonly string[]): AppError {
  const named = places.filter((place) => place !== 'stdin');
  return new AppError('usage', `the template ${sanitize(template)} has no parameter "${sanitize(key)}"`, {
    hint: named.length === 0 ? 'It has none.' : `It has: ${named.join(', ')}`,
  });
}

export function missingInputError(template: string, hint: string): AppError {
  return new AppError('usage', `the template ${sanitize(template)} needs input, and there is none`, { hint });
}

function missingValueError(template: string, place: string, entry: string | undefined): AppError {
  const isPrompt = place === 'prompt';
  const name = sanitize(template);
  const flags = isPrompt ? 'gmn --template <name> "…"' : `--param ${place}=…`;
  const words = isPrompt ? '…' : `${place}=…`;
  return new AppError('usage', `the template ${name} needs ${isPrompt ? 'a prompt' : `"${place}"`}`, {
    hint: `Add it: ${entry === undefined ? flags : `/${name} ${words}`}`,
  });
}
