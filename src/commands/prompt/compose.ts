import { requireCustomCommand, splitSlashWords, tryParseSlashEntry } from '../../app/custom-commands.ts';
import {
  chooseTemplate,
  fillTemplate,
  missingInputError,
  readUsableTemplate,
  type TemplateValues,
  takesStdin,
} from '../../app/template.ts';
import { type AccessContext, type AccessOptions, createTemplateAccess } from '../../app/template-access.ts';
import type { Template } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Stdin } from '../../core/io.ts';
import { decodeText } from '../../core/text/decode.ts';
import { splitList } from '../../core/text/names.ts';
import type { Run } from '../../engine/run.ts';
import { trySplitSkillEntry } from '../../engine/tools/skills.ts';
import type { OtherAttachments, PromptInput } from '../../input/prompt-input.ts';
import { readStdin, type StdinMode } from '../../input/stdin.ts';
import { readClipboard } from '../../platform/process/clipboard.ts';
import { editInEditor } from '../../platform/process/editor.ts';
import { openTty, TTY_PATH } from '../../platform/terminal/tty.ts';

export interface ComposeOptions {
  readonly template?: string;
  readonly param?: readonly string[];
  readonly editor?: boolean;
  readonly skill?: readonly string[];
}

interface ComposedPrompt {
  readonly prompt: string | undefined;
  readonly question?: string;
  readonly stdinMode?: StdinMode;
  readonly allowsMentions?: boolean;
  readonly missingInput?: AppError;
}

interface ComposeContext extends AccessContext {
  readonly words: string | undefined;
  readonly stdin: Stdin;
  readonly stdinMode: StdinMode;
  /** The model has something to work on besides stdin and files: tools, or what was said before. */
  readonly hasOtherInput: boolean;
  /** Stops the clock of the run until the returned function is called. */
  readonly pause: () => () => void;
  readonly activateSkills: Run['activateSkills'];
}

/** What flags other than `-f` contribute to the prompt. Throws AppError `usage` or `interrupted`. */
export async function composeInput(
  options: ComposeOptions & AccessOptions & AttachmentOptions,
  context: ComposeContext,
): Promise<Partial<PromptInput>> {
  const hasOthers = options.attach !== undefined || options.mimeType !== undefined || options.paste;
  const others = hasOthers ? { otherAttachments: toOtherAttachments(options, context.app) } : {};
  const { opening, words } = await openSkills(options, context);
  const isComposed = options.template !== undefined || options.param !== undefined || options.editor;
  const composed =
    isComposed || words?.startsWith('/') ? await composePrompt(options, { ...context, words }) : { prompt: words };
  return { ...others, ...composed, opening };
}

/** Those of `--skill`, and of a prompt that begins with `/skill:name`. */
async function openSkills(
  { skill: named = [] }: ComposeOptions,
  { words, activateSkills }: ComposeContext,
): Promise<Pick<ComposeContext, 'words'> & Pick<PromptInput, 'opening'>> {
  const entry = words === undefined ? undefined : trySplitSkillEntry(words);
  const names = [...splitList(named), ...(entry === undefined ? [] : [entry.name])];
  if (names.length === 0) return { words };
  return { opening: (await activateSkills(names)).join('\n\n'), words: entry?.words ?? words };
}

/**
 * Fills the template, or the custom command that the prompt names, then lets the user edit the text. Throws AppError:
 * `usage` if either is not possible, `interrupted` if the edited prompt is empty.
 */
async function composePrompt(
  options: ComposeOptions & AccessOptions,
  context: ComposeContext,
): Promise<ComposedPrompt> {
  const chosen = await chooseFilling(options, context);
  if (options.param !== undefined && chosen === undefined) {
    throw new AppError('usage', '--param needs --template', { hint: 'Example: --template review --param focus=speed' });
  }
  const filled: ComposedPrompt =
    chosen === undefined
      ? { prompt: context.words }
      : { ...(await fillChosen(chosen, options, context)), question: findQuestion(options, context) };
  return options.editor ? { ...filled, prompt: await editPrompt(filled.prompt ?? '', context) } : filled;
}

type Filling = { readonly template: Template } & Pick<TemplateValues, 'params' | 'words' | 'entry'>;

/** Undefined if the prompt is plain text. Throws AppError `usage` if it begins like a command that there is not. */
async function chooseFilling(
  { template: wanted, param: params = [] }: ComposeOptions,
  { app, words }: ComposeContext,
): Promise<Filling | undefined> {
  if (wanted !== undefined) return { template: await chooseTemplate(wanted, app), params, words };
  const entry = words?.startsWith('/') ? tryParseSlashEntry(words) : undefined;
  if (entry === undefined) return undefined;
  const found = await requireCustomCommand(entry.name, app, isChatCommand);
  if (found === undefined) return undefined;
  const template = await readUsableTemplate(found, app);
  const split = splitSlashWords(template, entry);
  return { template, ...split, params: [...split.params, ...params] };
}

/** Also one that other programs have in theirs. Loaded for this: most prompts begin with no slash. */
async function isChatCommand(name: string): Promise<boolean> {
  const [{ findCommand }, { findHabit }] = await Promise.all([
    import('../../chat/commands/table.ts'),
    import('../../chat/commands/habits.ts'),
  ]);
  return findCommand(name) !== undefined || findHabit(name, '') !== undefined;
}

async function fillChosen(
  { template, ...values }: Filling,
  options: AccessOptions,
  context: ComposeContext,
): Promise<ComposedPrompt> {
  const hasStdin = takesStdin(template);
  const stdin = hasStdin ? await readStdinText(template.name, context) : '';
  const access = createTemplateAccess(options, context);
  const prompt = await fillTemplate(template, { ...values, stdin: async () => stdin, ...access });
  // An @ in inserted text must not attach a file.
  const stdinMode: StdinMode = hasStdin ? 'never' : context.stdinMode;
  const filled = { prompt, allowsMentions: false, stdinMode };
  const hasOther = values.words?.trim() || hasStdin || context.hasOtherInput;
  if (!template.needsInput || hasOther) return filled;
  const hint = `Pipe it in: … | gmn --template ${template.name}; or name it: -f <path>, or words after the template`;
  return { ...filled, missingInput: missingInputError(template.name, hint) };
}

/** The words that were typed, else the template's name and parameters. */
function findQuestion({ template = '', param = [] }: ComposeOptions, { words }: ComposeContext): string {
  return words?.trim() ? words : [template, ...param].join(' ');
}

async function readStdinText(name: string, context: ComposeContext): Promise<string> {
  const { app, host, stdin, stdinMode: mode, signal } = context;
  const { env, clock } = app;
  const bytes = await readStdin({ stdin, mode, hasPrompt: false, env, clock, signal, notify: host.notify });
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) {
    throw new AppError('usage', `the template ${name} needs stdin${bytes === undefined ? '' : ', which was empty'}`, {
      hint: 'Pipe something in: … | gmn --template <name>',
    });
  }
  const decoded = decodeText(bytes);
  if (decoded.isText) return decoded.text;
  throw new AppError('usage', 'stdin is not text, which the template needs', { hint: 'Attach it: -f <path>' });
}

async function editPrompt(text: string, { app, pause, signal }: ComposeContext): Promise<string> {
  const tty = openTty();
  if (tty === undefined) {
    throw new AppError('usage', '--editor needs a terminal', { hint: 'Give the prompt as an argument, or on stdin.' });
  }
  tty.close();
  const editing = { text, name: 'prompt.md', env: app.env, terminal: TTY_PATH };
  const prompt = await editInEditor(editing, signal).finally(pause());
  if (prompt === undefined) {
    throw new AppError('usage', 'the editor could not be started, or failed', { hint: 'Set VISUAL or EDITOR.' });
  }
  if (prompt.trim() === '') throw new AppError('interrupted', 'The prompt was left empty: nothing was sent.');
  return prompt;
}

export interface AttachmentOptions {
  readonly attach?: readonly string[];
  readonly mimeType?: string;
  readonly paste?: boolean;
  readonly file?: readonly string[];
}

const MEDIA_TYPE = /^[a-z]+\/[a-z\d][a-z\d.+-]*$/i;

function toOtherAttachments(
  { attach = [], mimeType, paste, file = [] }: AttachmentOptions,
  { env, cwd }: App,
): OtherAttachments {
  if (mimeType !== undefined) {
    if (!MEDIA_TYPE.test(mimeType)) {
      throw new AppError('usage', `--mime-type: "${mimeType}" is not a media type`, {
        hint: 'Example: --mime-type text/csv',
      });
    }
    if (attach.length === 0 && !file.includes('-')) {
      throw new AppError('usage', '--mime-type needs -a or -f -', {
        hint: 'Example: … | gmn -a - --mime-type text/csv "…"',
      });
    }
  }
  return {
    attach,
    mimeType,
    clipboard: paste ? (signal: AbortSignal) => readClipboard({ env, cwd }, signal) : undefined,
  };
}
