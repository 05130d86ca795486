import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { AppError } from '../core/error.ts';
import { decodeText } from '../core/text/decode.ts';
import { contains, leadsAway, toSlashes } from '../core/text/path.ts';
import { isSamePath, isSensitivePath, isStatePath } from '../core/text/secrets.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { locate } from '../platform/files/directory-handle.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { readBytes } from '../platform/files/read.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import {
  type Context,
  type ContextFile,
  type ContextOptions,
  type ContextText,
  findContextFiles,
  findSystemMdValue,
  hasRefusedName,
  listProjectFolders,
  MAX_CONTEXT_NAMES,
} from './context-place.ts';
import { readSetting } from './keys.ts';
import { decideTrust, readTrustRecords, type TrustDecision } from './trust.ts';

/** Of the user and of trusted folders; skipped files are in `notices`. Throws AppError `config`. */
export async function readContext(
  options: ContextOptions,
  tools: readonly string[],
  lists: Lists = {},
): Promise<Context> {
  const reader = createContextReader();
  const decide = createTrustCheck(options);
  const ignored = new Map<string, string>();
  const files: ContextText[] = [];
  for (const place of findContextFiles(options)) {
    const decision = place.scope === 'user' ? TRUSTED : decide(place.directory);
    if (!decision.isTrusted) {
      if (!decision.isRefused) ignored.set(place.directory, formatUntrusted(place.file, decision));
      continue;
    }
    const text = (await reader.read(place))?.trim();
    if (text) files.push(frameText(place, options.cwd, text));
  }
  const { system, source, notice, listsSkills } = readSystemMd(options, { tools, ...lists }, decide);
  return {
    system,
    listsSkills,
    memory: files.length === 0 ? undefined : files.map(({ text }) => text).join('\n\n'),
    files: source === undefined || system === undefined ? files : [{ name: source, text: system }, ...files],
    sources: [...reader.sources, ...(source === undefined ? [] : [source])],
    notices: [
      ...formatRefusedNames(options.settings),
      ...ignored.values(),
      ...reader.notices,
      ...(notice === undefined ? [] : [notice]),
    ],
  };
}

const TRUSTED: TrustDecision = { isTrusted: true, why: 'the user wrote it' };

export function createTrustCheck({ env, homes, settings }: ContextOptions): (folder: string) => TrustDecision {
  const isEnabled = readSetting(settings.document ?? {}, 'security.folderTrust.enabled') ?? true;
  return (cwd) => decideTrust({ env, cwd, homes, isEnabled, records: readTrustRecords(homes) });
}

function formatUntrusted(file: string, { why }: TrustDecision): string {
  return `${file} is not used: ${why}. To trust the folder, run: gmn trust`;
}

/** The values are not shown: in a folder's file they may be variables of the environment. */
function formatRefusedNames({ document }: ContextOptions['settings']): readonly string[] {
  if (!hasRefusedName(document)) return [];
  const where = 'To see where it is set: gmn config explain context.fileName';
  return [`context.fileName takes ${MAX_CONTEXT_NAMES} names of files; paths and more names are not used. ${where}`];
}

function frameText({ file, scope }: ContextFile, cwd: string, text: string): ContextText {
  const name = scope === 'project' ? toSlashes(relative(cwd, file)) : file;
  return { name, text: `=== ${name} ===\n${text}\n=== end of ${name} ===` };
}

function readSystemMd(
  options: ContextOptions,
  offered: Offered,
  decide: (folder: string) => TrustDecision,
): Pick<Context, 'system' | 'listsSkills'> & { readonly source?: string; readonly notice?: string } {
  const value = findSystemMdValue(options);
  if (value === undefined) return {};
  const file = resolveSystemMd(value, options);
  const real = realPath(file);
  const text = real === undefined ? undefined : readSmallFile(real);
  if (real === undefined || text === undefined) {
    throw new AppError('config', `GEMINI_SYSTEM_MD: there is no file ${file}`, {
      hint: 'Write that file, name another, or set GEMINI_SYSTEM_MD=0.',
    });
  }
  const named = resolveSystemMd(value, { ...options, cwd: realPath(options.cwd) ?? options.cwd });
  if (!isSamePath(named, real) && (isStatePath(real) || isSensitivePath(real))) {
    return { notice: `${file} is not used: it leads to ${real}, which may hold secrets` };
  }
  const decision = decideSystemMd({ file, real }, value, options, decide);
  if (!decision.isTrusted) return { notice: formatUntrusted(file, decision) };
  return {
    system: fillPlaceholders(text, offered),
    source: real,
    listsSkills: /\$\{AgentSkills\}/.test(text) || undefined,
  };
}

/**
 * The author of a project must not replace the user's system prompt: a project's file counts if its folder is trusted,
 * or if the user's own environment names that very file. Even then, a link in an untrusted folder must not lead out of
 * the project.
 */
function decideSystemMd(
  { file, real }: { readonly file: string; readonly real: string },
  value: string,
  { cwd, env }: ContextOptions,
  decide: (folder: string) => TrustDecision,
): TrustDecision {
  const top = listProjectFolders(cwd)[0] ?? cwd;
  const root = realPath(top) ?? top;
  const place = join(realPath(dirname(file)) ?? dirname(file), basename(file));
  const isOfProject = contains(top, file) || contains(root, place);
  if (!isOfProject && !contains(root, real)) return TRUSTED;
  const decision = decide(isOfProject ? dirname(file) : dirname(real));
  const isNamed =
    !isSwitchedOn(value) && (isAbsolute(value) || value.startsWith('~') || env.GEMINI_SYSTEM_MD !== undefined);
  return isNamed && contains(root, real) ? TRUSTED : decision;
}

/** Only switched on: the file is then in the current folder, and the user has not named it. */
function isSwitchedOn(value: string): boolean {
  return /^(?:1|true)$/i.test(value);
}

function resolveSystemMd(value: string, { cwd, env, homes }: ContextOptions): string {
  if (isSwitchedOn(value)) return join(cwd, '.gemini', 'system.md');
  if (value === '~' || /^~[\\/]/.test(value)) return join(env.HOME ?? dirname(homes.gemini), value.slice(1));
  return isAbsolute(value) ? value : join(cwd, value);
}

function fillPlaceholders(text: string, { tools, skills = '', agents = '' }: Offered): string {
  const lists: Readonly<Record<string, string>> = {
    AgentSkills: skills,
    SubAgents: agents,
    AvailableTools: tools.map((name) => `- ${name}`).join('\n'),
  };
  return text.replace(
    /\$\{(AgentSkills|SubAgents|AvailableTools|(\w+)_ToolName)\}/g,
    (_, key: string, tool?: string) => tool ?? lists[key] ?? '',
  );
}

/** What the model is offered, as text for a system prompt that has a place for it. */
interface Lists {
  readonly skills?: string;
  readonly agents?: string;
}

interface Offered extends Lists {
  readonly tools: readonly string[];
}

const MAX_DEPTH = 5;
/** Words that may be imports, each of which is looked up; of all files that one reader reads. */
const MAX_IMPORTS = 1000;

interface ContextLimits {
  readonly fileBytes: number;
  readonly fileSize: string;
  readonly totalLength: number;
}

const LIMITS: ContextLimits = { fileBytes: 1_000_000, fileSize: '1 MB', totalLength: 2_000_000 };

interface ContextReader {
  /** With its `@imports`; undefined, with a notice, if unreadable. The user's own file may be a link to anywhere. */
  read(place: Pick<ContextFile, 'file' | 'root' | 'scope'>): Promise<string | undefined>;
  /** What was read so far, and imports that could not be. */
  readonly sources: readonly string[];
  readonly notices: readonly string[];
}

interface Import {
  readonly file: string;
  /** Without symbolic links, as are the files of `chain`. */
  readonly root: string;
  readonly chain: readonly string[];
}

/**
 * Stays inside the root (except for the user's own file), follows links only inside it, opens no file that is likely to
 * hold keys, and reads regular text files only, within the limits and five imports deep.
 */
export function createContextReader({ fileBytes, fileSize, totalLength } = LIMITS): ContextReader {
  const notices: string[] = [];
  const sources: string[] = [];
  let left = totalLength;
  let imports = 0;

  async function load(file: string, root: string | undefined): Promise<string | undefined> {
    const real = realPath(file);
    if (real === undefined || left < 0) return undefined;
    if (root !== undefined && !contains(root, real)) return skipFile(file, `it leads out of ${root}`);
    if (isSecretFile(real, root)) return skipFile(file, 'a file of that name may hold keys');
    try {
      const tooLarge = (): AppError => new AppError('usage', `it is larger than ${fileSize}`);
      const decoded = decodeText(await readBytes(real, { maxBytes: fileBytes, tooLarge, links: 'never' }));
      if (!decoded.isText) return skipFile(file, 'it is not text');
      left -= decoded.text.length;
      return left < 0 ? skipFile(file, 'there is too much context already') : decoded.text;
    } catch (thrown) {
      return skipFile(file, AppError.from(thrown).message);
    }
  }

  function skipFile(file: string, why: string): undefined {
    notices.push(`${file} is not used: ${why}`);
  }

  async function expand(text: string, at: Import): Promise<string> {
    const pieces: string[] = [];
    let end = 0;
    for (const { index, path } of findImports(text)) {
      const found = await readImport(path, at);
      if (found === undefined) continue;
      pieces.push(text.slice(end, index), found);
      end = index + 1 + path.length;
    }
    return [...pieces, text.slice(end)].join('');
  }

  async function readImport(path: string, { file, root, chain }: Import): Promise<string | undefined> {
    imports += 1;
    if (imports === MAX_IMPORTS + 1) skipFile(`${file}: @${path}`, `only ${MAX_IMPORTS} imports are looked up`);
    if (imports > MAX_IMPORTS) return undefined;
    const target = isAbsolute(path) ? path : join(dirname(file), path);
    if (leadsAway(path, [root])) return skipFile(path, 'it is not in a folder of this computer');
    const real = realPath(target);
    addSource(target);
    // Just a word that begins with @.
    if (real === undefined || isDirectory(real)) return undefined;
    if (chain.includes(real)) return `<!-- ${path} is above -->`;
    if (chain.length > MAX_DEPTH) return skipFile(target, `imports go ${MAX_DEPTH} deep at most`);
    const text = await load(target, root);
    if (text === undefined) return undefined;
    const inner = await expand(text, { file: target, root, chain: [...chain, real] });
    return `<!-- ${path} -->\n${inner.trimEnd()}\n<!-- end of ${path} -->`;
  }

  function addSource(file: string): void {
    const located = locate(file);
    if (located !== undefined) sources.push(join(located.real, ...located.rest));
  }

  return {
    notices,
    sources,
    async read({ file, root, scope }) {
      addSource(file);
      const text = await load(file, scope === 'user' ? undefined : root);
      return text === undefined ? undefined : expand(text, { file, root, chain: [realPath(file) ?? file] });
    },
  };
}

/** The same rule as for tools, except that `.gemini` is allowed: instructions are often kept there. */
function isSecretFile(real: string, root: string | undefined): boolean {
  const below = root === undefined ? basename(real) : relative(root, real).replace(/^\.gemini[\\/]/, '');
  return isStatePath(real) || isSensitivePath(below);
}

function findImports(text: string): readonly { readonly index: number; readonly path: string }[] {
  const pattern = /```[\s\S]*?(?:```|$)|`[^`\n]*`|(?<!\S)@([./\p{L}][^\s`]*)/gu;
  return [...text.matchAll(pattern)].flatMap(({ index, 1: word }) => {
    const path = trimTrailing(word ?? '', `.,;:!?)]}'"。、，．！？）」』】`);
    return path === '' || path.includes('://') ? [] : [{ index, path }];
  });
}
