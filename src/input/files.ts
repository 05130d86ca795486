import { basename, dirname, join, posix, resolve } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import type { FileSupport } from '../core/files.ts';
import type { Env } from '../core/io.ts';
import { sniffEncoding } from '../core/text/decode.ts';
import { plural } from '../core/text/format.ts';
import { compileGlob } from '../core/text/glob.ts';
import { measureEditDistance } from '../core/text/names.ts';
import { toSlashes } from '../core/text/path.ts';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import {
  type FoundPath,
  inspectPath,
  readBytes,
  readDirectory,
  readError,
  readPathStatus,
} from '../platform/files/read.ts';
import { startPace } from '../platform/runtime/pace.ts';
import { readRulesAboveNamed, unreadableRulesError } from '../tools/search/ignore.ts';
import { joinBelow, walkTree } from '../tools/search/walk.ts';
import {
  type Attachment,
  type Attachments,
  attachmentTooLargeError,
  ENTRY_LIMIT,
  FILE_COUNT_LIMIT,
  INLINE_LIMIT,
  isAttachment,
  NO_FILE_SUPPORT,
  toAttachment,
  toPlainName,
  type UploadedAttachment,
  unsendableError,
} from './attachment.ts';
import { createWithholding, findNamedFile, type NamingContext, type Withholding } from './named-file.ts';
import type { OnAttached, PromptInput } from './prompt-input.ts';

export interface FileContext {
  readonly cwd: string;
  readonly env: Env;
  readonly homes: PromptInput['homes'] | undefined;
  readonly signal: AbortSignal;
  readonly attachments: Attachments;
  readonly notify: Notify;
  readonly onAttached?: OnAttached | undefined;
}

export interface WalkContext extends FileContext, Withholding {}

export async function createWalkContext<Context extends NamingContext>(
  context: Context,
): Promise<Context & Pick<WalkContext, 'workspace' | 'isWithheld'>> {
  return { ...context, ...(await createWithholding(context)) };
}

/**
 * Attaches the files, directories and globs of `-f`, in order. Returns the index for stdin if one of them is `-`.
 * Throws AppError `usage` for a value without anything to send.
 */
export async function addFiles(values: readonly string[], context: FileContext): Promise<number | undefined> {
  const walked = await createWalkContext(context);
  let stdinPlace: number | undefined;
  for (const value of values) {
    context.signal.throwIfAborted();
    if (value === '-' || value === '/dev/stdin') stdinPlace ??= context.attachments.items.length;
    else await addValue(value, walked);
  }
  return stdinPlace;
}

async function addValue(value: string, context: WalkContext): Promise<void> {
  if (value === '') throw new AppError('usage', '-f was given an empty path', { hint: 'Name a file: -f <path>' });
  const found = await findNamedFile(value, context);
  if (found?.kind === 'directory') {
    throwIfWithheld(value, found, context);
    if ((await addDirectory(value, found, context)) !== undefined) return;
    throw new AppError('usage', `no files to send in ${value}`, {
      hint: 'It is empty, or its files are left out by .gitignore or .geminiignore; name them one by one.',
    });
  }
  if (found !== undefined) return addNamedFile(value, found, context);
  if (value.startsWith('gs://')) {
    const { createBucketAttachment } = await import('./large-file.ts');
    const { attachments } = context;
    if (attachments.isNew(value)) attachments.add(createBucketAttachment(value, attachments.support));
    return;
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(value)) {
    throw new AppError('usage', `-f does not fetch addresses yet: ${value}`, {
      hint: `Fetch it yourself: curl -fsSL '${value}' | gmn "…"`,
    });
  }
  if (!GLOB.test(value)) throw await missingFileError(value, context.cwd);
  return await addGlob(value, context);
}

/** Attaches a file that the user named, once. Throws AppError `usage` if it cannot be sent. */
export async function addNamedFile(
  value: string,
  { path }: FoundPath,
  context: FileContext,
  options?: LoadOptions,
): Promise<void> {
  const attached = await attachFile(path, value, context, options);
  if (attached !== undefined && !isAttachment(attached.item)) throw unsendableError(value, attached.item);
}

/** Attaches a file if it can be sent; undefined if it was attached before. Throws AppError `usage`. */
export async function attachFile(
  path: string,
  name: string,
  context: FileContext,
  options?: LoadOptions,
): Promise<LoadedFile | undefined> {
  if (!context.attachments.isNew(path)) return undefined;
  const loaded = await loadFile(path, name, context, options);
  if (!isAttachment(loaded.item)) return loaded;
  context.attachments.add(loaded.item);
  if (loaded.bytes !== undefined) context.onAttached?.(path, loaded.bytes);
  return loaded;
}

interface LoadOptions {
  readonly links?: 'follow' | 'never';
  /** Gives the media type for the first bytes, or all of them; guessed if absent. May throw. */
  readonly toType?: (bytes: Uint8Array) => string;
}

export type AttachedItem = Attachment | UploadedAttachment;

interface LoadedFile {
  readonly item: ReturnType<typeof toAttachment> | UploadedAttachment;
  /** The content; absent if it is uploaded. */
  readonly bytes?: Uint8Array;
}

export function readInputFile(
  path: string,
  name: string,
  { links = 'follow', support = NO_FILE_SUPPORT }: Pick<LoadOptions, 'links'> & { readonly support?: FileSupport } = {},
): Promise<Uint8Array> {
  const tooLarge = (bytes: number): AppError => attachmentTooLargeError(name, bytes, support);
  return readBytes(path, { name, links, maxBytes: INLINE_LIMIT, tooLarge });
}

/**
 * Reads a file to attach; of one that is too large for a request only the beginning, if the backend keeps files. Throws AppError
 * `usage`.
 */
export async function loadFile(
  path: string,
  name: string,
  { attachments: { support } }: Pick<FileContext, 'attachments'>,
  { links = 'follow', toType }: LoadOptions = {},
): Promise<LoadedFile> {
  if (support.hasUploads && (readPathStatus(path)?.bytes ?? 0) > INLINE_LIMIT) {
    const { inspectLargeFile } = await import('./large-file.ts');
    return { item: await inspectLargeFile(path, name, { support, links, toType }) };
  }
  const bytes = await readInputFile(path, name, { links, support });
  const item = toAttachment(bytes, name, { support, type: toType?.(bytes) });
  if (!isAttachment(item)) return { item, bytes };
  const mimeType = 'text' in item ? 'text/plain' : item.mimeType;
  // Uploaded text is read as UTF-8.
  const canUpload = !('text' in item) || sniffEncoding(bytes) === 'utf8';
  return { item: canUpload ? { ...item, upload: { path, mimeType, links } } : item, bytes };
}

/**
 * Attaches the files of a directory; notices say what was skipped. Undefined if it has no files. Throws AppError
 * `usage` if there is too much.
 */
export async function addDirectory(
  name: string,
  found: FoundPath,
  context: WalkContext,
): Promise<readonly AttachedItem[] | undefined> {
  const walked = await collectFiles({ root: found.path, name, context });
  if (isEmpty(walked)) return undefined;
  return await addWalked(walked, { root: found.path, name, context });
}

async function addGlob(pattern: string, context: WalkContext): Promise<void> {
  const { base: name, below } = splitGlob(toSlashes(pattern));
  const { matches, depth } = compileGlob(below, { isCaseSensitive: true, hasBraces: true, hidesDots: true });
  const found = await inspectPath(resolve(context.cwd, name), name);
  const noMatch = new AppError('usage', `no file matches ${pattern}`, {
    hint: 'Check the pattern; what .gitignore or .geminiignore leaves out, and what may hold secrets, does not count.',
  });
  if (found?.kind !== 'directory') throw noMatch;
  throwIfWithheld(name, found, context);
  const glob = { accepts: matches, maxDepth: depth };
  const walked = await collectFiles({ root: found.path, name: pattern, context, glob });
  if (isEmpty(walked)) throw noMatch;
  await addWalked(walked, { root: found.path, name, context });
}

/** Throws AppError `usage`: naming a directory is not naming each of its files. */
function throwIfWithheld(name: string, { path }: FoundPath, { cwd, isWithheld }: WalkContext): void {
  if (!isWithheld(path) && !isWithheld(resolve(cwd, name))) return;
  throw new AppError('usage', `${toPlainName(name)} may hold secrets`, {
    hint: 'Name the files you want to send one by one: -f <path>',
  });
}

const GLOB = /[*?[{]|[@!+]\(/;

export function splitGlob(pattern: string): { readonly base: string; readonly below: string } {
  const slash = pattern.lastIndexOf('/', pattern.search(GLOB));
  const base = pattern.slice(0, slash + 1).replace(/(?<=^\/|[^/])\/+$/, '');
  return { base: base === '' ? '.' : base, below: pattern.slice(slash + 1) };
}

interface WalkTarget {
  /** Without symbolic links. */
  readonly root: string;
  readonly name: string;
  readonly context: WalkContext;
  readonly glob?: {
    readonly accepts: (below: string) => boolean;
    readonly maxDepth: number;
  };
}

interface WalkResult {
  /** Paths below the root, with slashes, sorted. */
  readonly files: readonly string[];
  /** Accepted, but likely to hold keys or passwords; directories end with a slash. */
  readonly secrets: readonly string[];
  /** Accepted, but links, which may point anywhere. */
  readonly links: readonly string[];
}

/**
 * The files below a directory that are not ignored. If the directory itself is ignored, it was named on purpose, and
 * only the ignore files inside it count. Throws AppError `usage` if there are too many, or some cannot be read.
 */
async function collectFiles({ root, name, context, glob }: WalkTarget): Promise<WalkResult> {
  const found: Record<keyof WalkResult, string[]> = { files: [], secrets: [], links: [] };
  const accepts = glob?.accepts ?? (() => true);
  const walk = walkTree({
    start: root,
    // The files are read by their paths later, so pinning the directories would protect nothing.
    handleMode: 'path',
    rules: readRulesAboveNamed(root, context.workspace).rules,
    enters: (path) => !context.isWithheld(path),
    shows: (below) => accepts(below) && !isSensitiveEntry(join(root, below)),
    maxDepth: glob?.maxDepth,
    pace: startPace({ maxEntries: ENTRY_LIMIT + 1, maxMs: Number.POSITIVE_INFINITY }, context.signal),
    onSkipped: (below, kind) => {
      if (kind !== 'directory' && accepts(below)) found[kind === 'link' ? 'links' : 'secrets'].push(below);
      // With a pattern, the directory may not contain a match.
      if (kind === 'directory' && glob === undefined) found.secrets.push(`${below}/`);
    },
    onUnreadable: (path, cause) => {
      throw cause === undefined ? unreadableRulesError(path) : readError(cause, path);
    },
    onStopped: () => {
      throw tooManyFilesError(name, `${ENTRY_LIMIT} entries`);
    },
  });
  for await (const { below, files, close } of walk) {
    close();
    for (const file of files) found.files.push(joinBelow(below, file));
    if (found.files.length > FILE_COUNT_LIMIT) throw tooManyFilesError(name, `${FILE_COUNT_LIMIT} files`);
  }
  for (const list of Object.values(found)) list.sort();
  return found;
}

function tooManyFilesError(name: string, limit: string): AppError {
  return new AppError('usage', `more than ${limit} in ${name}`, {
    hint: 'Name a smaller directory or a narrower glob, or leave some out in .geminiignore.',
  });
}

async function addWalked(walked: WalkResult, target: WalkTarget): Promise<readonly AttachedItem[]> {
  const { root, context } = target;
  const toDisplayName = (below: string): string => toPlainName(posix.join(toSlashes(target.name), below));
  const added: AttachedItem[] = [];
  const notText: string[] = [];
  const office: string[] = [];
  for (const below of walked.files) {
    context.signal.throwIfAborted();
    const attached = await attachFile(join(root, below), toDisplayName(below), context, { links: 'never' });
    if (attached === undefined) continue;
    const { item } = attached;
    if (isAttachment(item)) added.push(item);
    else (item.reason === 'office' ? office : notText).push(below);
  }
  reportSkipped('neither text nor media that can be sent', notText.map(toDisplayName), context.notify);
  const { model, reader } = context.attachments.support.officeGap ?? {};
  reportSkipped(
    `Office files, which ${model} does not read; -m ${reader} does`,
    office.map(toDisplayName),
    context.notify,
  );
  reportSkipped('may hold secrets; to send one, name it with -f', walked.secrets.map(toDisplayName), context.notify);
  reportSkipped('symbolic links', walked.links.map(toDisplayName), context.notify);
  return added;
}

const MAX_NAMES = 3;

function reportSkipped(why: string, names: readonly string[], notify: Notify): void {
  if (names.length === 0) return;
  const some = names.slice(0, MAX_NAMES).join(', ') + (names.length > MAX_NAMES ? ', …' : '');
  const directories = names.filter((name) => name.endsWith('/')).length;
  const files = names.length - directories;
  const count = [
    ...(files > 0 ? [plural(files, 'file')] : []),
    ...(directories > 0 ? [`${directories} ${directories === 1 ? 'directory' : 'directories'}`] : []),
  ];
  notify(`left out ${count.join(' and ')} (${why}): ${some}`);
}

function isEmpty({ files, secrets, links }: WalkResult): boolean {
  return files.length + secrets.length + links.length === 0;
}

export async function missingFileError(value: string, cwd: string): Promise<AppError> {
  return new AppError('usage', `no such file: ${value}`, { hint: await findMissingHint(value, cwd) });
}

async function findMissingHint(value: string, cwd: string): Promise<string> {
  if (value.startsWith('~')) return 'gmn does not expand ~: leave out the quotes, or write "$HOME/…".';
  const directory = dirname(value);
  const found = await inspectPath(resolve(cwd, directory), directory);
  if (found?.kind !== 'directory') return `There is no directory ${directory} either. Paths start at ${cwd}.`;
  const names = (await readDirectory(found.path, directory)).map((entry) => entry.name);
  if (names.includes(basename(value))) return 'It is a symbolic link to a file that does not exist.';
  const close = findNearMiss(basename(value), names);
  return close === undefined ? `Paths start at ${cwd}.` : `Did you mean ${toSlashes(join(directory, close))}?`;
}

function findNearMiss(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const allowed = Math.max(1, Math.min(3, Math.floor(wanted.length / 3)));
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = measureEditDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}
