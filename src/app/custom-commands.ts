import { findSkills } from '../config/conventions/skills.ts';
import {
  type FoundTemplate,
  findTemplates,
  listTemplateDirectories,
  readTemplate,
  type Template,
} from '../config/templates.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { findNearestNames } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import {
  fillTemplate,
  listPlaceholders,
  missingInputError,
  readUsableTemplate,
  type TemplateValues,
} from './template.ts';
import { type AccessContext, type AccessOptions, createTemplateAccess } from './template-access.ts';

interface SlashEntry {
  readonly name: string;
  readonly words: string;
  readonly entry: string;
}

/** Undefined for any other text: `/etc/hosts` and `//text` name no command. */
export function tryParseSlashEntry(text: string): SlashEntry | undefined {
  const entry = text.trim();
  const [, name, words = ''] = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(entry) ?? [];
  return name === undefined ? undefined : { name, words, entry };
}

/** As in the official CLI, `_` replaces a character that cannot be typed in a command. */
function toSlashName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_.:-]/gu, '_');
}

async function findCustomCommand(name: string, app: App): Promise<FoundTemplate | undefined> {
  const found = await findTemplates(await listTemplateDirectories(app));
  return found.find((template) => toSlashName(template.name) === name);
}

/** As people name commands; `/tmp?` is text. */
const COMMAND_NAME = /^\p{L}[\p{L}\p{N}_.:-]*$/u;

/**
 * Like `findCustomCommand`; throws AppError `usage` if none has a name like this. `isOfChats` knows the names of commands that
 * only a chat has.
 */
export async function requireCustomCommand(
  name: string,
  app: App,
  isOfChats: (name: string) => Promise<boolean>,
): Promise<FoundTemplate | undefined> {
  const template = await findCustomCommand(name, app);
  if (template !== undefined || !COMMAND_NAME.test(name)) return template;
  const asText = `To send it as text, put a space before it: gmn -p " /${sanitize(name)} …"`;
  if (await isOfChats(name)) {
    throw new AppError('usage', `/${sanitize(name)} is for chats`, {
      hint: `Type it in one: gmn chat, or gmn chat -c for your last\n${asText}`,
    });
  }
  const names = (await findUsableTemplates(app)).map((usable) => toSlashName(usable.name));
  const near = findNearestNames(name, names).map((word) => `/${sanitize(word)}`);
  const others = near.length === 0 ? 'To see what there is: gmn templates list' : `Did you mean ${near.join(' or ')}?`;
  throw new AppError('usage', `there is no command /${sanitize(name)} outside of a chat`, {
    hint: `${others}\n${asText}`,
  });
}

/** In an entry that calls a markdown template, `name=value` pairs may come before the other words. */
export function splitSlashWords(
  template: Pick<Template, 'kind' | 'body'>,
  { words, entry }: SlashEntry,
): Pick<TemplateValues, 'params' | 'words' | 'entry'> {
  const names = template.kind === 'command' ? [] : listPlaceholders(template);
  const params: string[] = [];
  let rest = words;
  for (;;) {
    const [whole = '', name = '', quoted, bare = ''] = /^([\w-]+)=(?:"([^"]*)"(?!\S)|(\S*))\s*/.exec(rest) ?? [];
    if (!names.includes(name) || name === 'stdin' || name === 'prompt') break;
    params.push(`${name}=${quoted ?? bare}`);
    rest = rest.slice(whole.length);
  }
  return { params, entry, words: rest === '' ? undefined : rest };
}

interface CommandSummary {
  readonly name: string;
  readonly about: string;
}

interface ChatState {
  readonly approvalMode: NonNullable<AccessOptions['approvalMode']>;
  /** Something was said before, or goes along. */
  readonly hasOtherInput: boolean;
}

/** A menu asks for the list at every key. */
const LIST_MS = 2000;

export function createCustomCommands(options: AccessOptions, context: Omit<AccessContext, 'signal'>) {
  const { app } = context;
  let listed: { readonly atMs: number; readonly commands: Promise<readonly CommandSummary[]> } | undefined;
  return {
    /** Those of the user, of the folder if it is trusted, and gmn's own. The description of a faulty one is its error. */
    list(): Promise<readonly CommandSummary[]> {
      const nowMs = app.clock.now();
      if (listed === undefined || nowMs - listed.atMs > LIST_MS) listed = { atMs: nowMs, commands: listCommands(app) };
      return listed.commands;
    },
    /** The prompt that the entry stands for; undefined if there is no such command. Throws AppError. */
    async expand(
      text: string,
      { approvalMode, hasOtherInput }: ChatState,
      signal: AbortSignal,
    ): Promise<string | undefined> {
      const entry = tryParseSlashEntry(text);
      const found = entry && (await findCustomCommand(entry.name, app));
      if (entry === undefined || found === undefined) return undefined;
      const template = await readUsableTemplate(found, app);
      const values = splitSlashWords(template, entry);
      if (template.needsInput && values.words === undefined && !hasOtherInput) {
        const call = `/${entry.name}`;
        throw missingInputError(entry.name, `Say on what: ${call} <words>; or attach a file before it: /file <path>`);
      }
      return fillTemplate(template, {
        ...values,
        stdin: async () => {
          throw new AppError('usage', `the template ${entry.name} needs stdin, which a chat does not have`, {
            hint: `Use it in a shell: … | gmn -p /${entry.name}`,
          });
        },
        ...createTemplateAccess({ ...options, approvalMode }, { ...context, signal }),
      });
    },
  };
}

async function listCommands(app: App): Promise<readonly CommandSummary[]> {
  const found = await findSkills({ ...app, settings: await app.settings() });
  const skills = found.skills.map(({ name, description }) => ({ name: `skill:${name}`, about: description }));
  return [...(await Promise.all((await findUsableTemplates(app)).map(summarizeCommand))), ...skills];
}

/** Without those of a folder that is not trusted, and those that have changed since it was. */
async function findUsableTemplates(app: App): Promise<readonly FoundTemplate[]> {
  const places = (await listTemplateDirectories(app)).filter(({ ignored }) => ignored === undefined);
  return (await findTemplates(places)).filter(({ place }) => place.ignored === undefined);
}

async function summarizeCommand(found: FoundTemplate): Promise<CommandSummary> {
  const name = toSlashName(found.name);
  try {
    const { description } = await readTemplate(found);
    return { name, about: description ?? `Custom command: ${found.file}` };
  } catch (thrown) {
    return { name, about: `(${AppError.from(thrown).message})` };
  }
}
