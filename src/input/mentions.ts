import { basename, dirname, resolve, sep } from 'node:path';
import { AppError } from '../core/error.ts';
import { formatSize } from '../core/text/format.ts';
import { contains, expandHome, isRemotePath } from '../core/text/path.ts';
import { describeMedia } from '../core/text/picture.ts';
import { type FoundPath, inspectPath } from '../platform/files/read.ts';
import { readRulesAboveNamed, readRulesWithin, unreadableRulesError } from '../tools/search/ignore.ts';
import { describeUnsendable, isAttachment, toAttachment, toPlainName } from './attachment.ts';
import { addDirectory, attachFile, createWalkContext, type FileContext, type WalkContext } from './files.ts';
import { createFindElsewhere, describeMissingPath, type FindElsewhere } from './missing-path.ts';
import type { ReadResource, Resource } from './prompt-input.ts';

/**
 * Attaches the files that a prompt mentions with `@`, each with a notice. Returns the prompt to send: as typed, except
 * that `\@` loses its backslash. A mention that is not a file may be a resource of an MCP server. Ignored files,
 * possible secrets, unknown resources and what looks like a path of no file are not attached, and a notice says so. Any other mention is plain text.
 */
export async function addMentions(prompt: string, given: MentionOptions): Promise<string> {
  const context = { ...given, findElsewhere: createFindElsewhere(given) };
  const walked = await createWalkContext(context);
  let text = '';
  for (const piece of parseMentions(prompt)) {
    text += piece.kind === 'escape' ? piece.raw.slice(1) : piece.raw;
    if (piece.kind !== 'mention') continue;
    context.signal.throwIfAborted();
    const mention = await resolveMention(piece.paths, context);
    if (mention === undefined && piece.paths.every((path) => isRemotePath(path))) {
      context.notify(
        `not attached: @${toPlainName(piece.paths[0] ?? '')} is a path of the network or a device (-f or /file attaches it)`,
      );
      continue;
    }
    if (mention === undefined) {
      await attachResource(piece.paths, context);
      continue;
    }
    const refusal = await findMentionRefusal(mention, walked);
    if (refusal === undefined) await attachMention(mention, walked);
    else context.notify(`not attached: @${mention.name} ${refusal}`);
  }
  return text;
}

interface MentionOptions extends FileContext {
  readonly readResource?: ReadResource;
}

interface MentionContext extends MentionOptions {
  readonly findElsewhere: FindElsewhere;
}

async function attachResource(mentions: readonly string[], context: MentionContext): Promise<void> {
  const { readResource, signal, attachments } = context;
  try {
    const resource = await readResource?.(mentions, signal);
    if (resource === undefined) await reportUnresolved(mentions, context);
    else if (attachments.isNew(`@${resource.uri}`)) addResource(resource, context);
  } catch (thrown) {
    signal.throwIfAborted();
    const { fault, message } = AppError.from(thrown);
    if (fault !== 'mcp') throw thrown;
    context.notify(`not attached: @${mentions[0]}: ${message}`);
  }
}

/** `server://rest` and `server:scheme:rest`; web addresses are plain text. */
const RESOURCE = /^(?!(?:https?|ftp|file|ssh|git|mailto|data):)([^\s:/@]+):(?:\/\/|[a-z][a-z\d+.-]*:)./i;

/** Without a notice, the model would have to guess what the mention means. */
async function reportUnresolved(mentions: readonly string[], context: MentionContext): Promise<void> {
  // The shortest candidate, i.e. without trailing punctuation.
  const mention = mentions.findLast((candidate) => RESOURCE.test(candidate));
  if (mention === undefined) {
    const missing = await describeMissingPath(mentions, context);
    if (missing !== undefined) context.notify(`not attached: ${toPlainName(missing)}`);
    return;
  }
  const [, server = ''] = RESOURCE.exec(mention) ?? [];
  const why =
    context.readResource !== undefined
      ? 'is not a resource of an MCP server in use here'
      : `names an MCP server, and none is in use (--allowed-mcp-server-names ${toPlainName(server)} uses it)`;
  context.notify(`not attached: @${toPlainName(mention)} ${why}`);
}

function addResource({ uri, pieces }: Resource, { attachments, notify }: FileContext): void {
  const name = toPlainName(uri);
  for (const piece of pieces) {
    const loaded =
      typeof piece === 'string'
        ? { name, bytes: Buffer.byteLength(piece), text: piece }
        : toAttachment(piece, name, attachments);
    if (!isAttachment(loaded)) {
      notify(`not attached: ${name} ${describeUnsendable(loaded)}`);
      continue;
    }
    attachments.add(loaded);
    notify(`+ ${name} (${formatSize(loaded.bytes)})`);
  }
}

interface Mention extends FoundPath {
  readonly name: string;
}

async function resolveMention(paths: readonly string[], { cwd, env }: FileContext): Promise<Mention | undefined> {
  for (const path of paths) {
    const name = expandHome(path, env.HOME);
    if (isRemotePath(name)) continue;
    const found = await tryInspectPath(resolve(cwd, name));
    if (found !== undefined) return { ...found, name };
  }
  return undefined;
}

/** A word that only looks like a path must not fail the run. */
async function tryInspectPath(path: string): Promise<FoundPath | undefined> {
  try {
    return await inspectPath(path);
  } catch (thrown) {
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
}

export async function findMentionRefusal(
  mention: Mention,
  context: Pick<WalkContext, 'cwd' | 'workspace' | 'isWithheld'>,
): Promise<string | undefined> {
  const { name, path, kind } = mention;
  const { cwd, workspace, isWithheld } = context;
  if (!contains(workspace, path)) return 'is outside the working directory (-f or /file attaches it)';
  if (kind !== 'file' && kind !== 'directory') return 'is not a regular file';
  if (isWithheld(path) || isWithheld(resolve(cwd, name))) {
    return kind === 'file'
      ? 'may hold secrets (-f or /file attaches it)'
      : 'may hold secrets (-f or /file attaches its files, one by one)';
  }
  return isIgnored(path, kind, workspace) ? 'is left out by an ignore file (-f or /file attaches it)' : undefined;
}

/** Throws AppError `usage` if an ignore file cannot be read. */
function isIgnored(path: string, kind: 'file' | 'directory', workspace: string): boolean {
  const directory = kind === 'file' ? dirname(path) : path;
  const { rules: above, isExcluded } = readRulesAboveNamed(directory, workspace);
  if (isExcluded) return true;
  const rules = readRulesWithin(above, '', directory);
  if (rules === undefined) throw unreadableRulesError(directory);
  return kind === 'file' && rules.ignores(basename(path), 'file');
}

async function attachMention(mention: Mention, context: WalkContext): Promise<void> {
  const { name, path, kind } = mention;
  if (kind === 'directory') {
    const added = await addDirectory(name, mention, context);
    if (added === undefined) context.notify(`not attached: @${name} has no files to send`);
    if (added === undefined || added.length === 0) return;
    const bytes = added.reduce((sum, item) => sum + item.bytes, 0);
    const count = added.length === 1 ? '1 file' : `${added.length} files`;
    context.notify(`+ ${name} (${count}, ${formatSize(bytes)})`);
    return;
  }
  const attached = await attachFile(path, name, context, { links: 'never' });
  if (attached === undefined) return;
  const { item: loaded, bytes } = attached;
  if (!isAttachment(loaded)) {
    context.notify(`not attached: @${name} ${describeUnsendable(loaded)}`);
    return;
  }
  const type = bytes === undefined || !('data' in loaded) ? '' : `${describeMedia(loaded.mimeType, bytes)}, `;
  context.notify(`+ ${loaded.name} (${type}${formatSize(loaded.bytes)})`);
}

/** The `raw` of all pieces, joined, is the prompt. */
type PromptPiece =
  | { readonly kind: 'text'; readonly raw: string }
  /** `\@` at the start of a word. */
  | { readonly kind: 'escape'; readonly raw: string }
  | { readonly kind: 'mention'; readonly raw: string; readonly paths: readonly string[] };

/** Where a mention may begin. */
const START = '(?<=^|[\\s(])';
const WORD = new RegExp(
  `${START}(?<escaped>\\\\@)|${START}@(?:"(?<quoted>(?:[^"\\\\\\r\\n]|\\\\.)+)"|(?<bare>(?:\\\\\\s|[^\\s"])+))`,
  'gu',
);

/** Where a path may end although the word continues: `@a.txt, and`, `(@a.txt)`, `@a.txt's`, `@a.txtを`. */
const STOP = /[,;!?'`()[\]{}<>\p{Ps}\p{Pe}\p{Pi}\p{Pf}]|(?![\0-\x7f])\p{Po}/u;
/**
 * Common inside paths and in `@<server>:<uri>`, so they end a path only at the end of the word or before a line number.
 */
const WEAK_STOP = /^(?:[.:]+|:\d+(?::\d+)?)$/;
/** In characters: longer runs of them end no path. */
const MAX_WEAK_STOP = 32;
const CJK = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;
const MAX_PATHS = 16;
const MAX_PATH_LENGTH = 4096;

/** With each `@` that would mention something written as `\\@`. */
export function escapeMentions(text: string): string {
  return text.replace(new RegExp(`${START}@`, 'g'), '\\@');
}

/**
 * Splits a prompt at its `@` mentions, without file access. `paths` are the candidates of a mention, the longest first.
 */
export function parseMentions(prompt: string, separator: string = sep): readonly PromptPiece[] {
  const pieces: PromptPiece[] = [];
  let end = 0;
  const push = (piece: PromptPiece): void => {
    if (piece.raw !== '') pieces.push(piece);
    end += piece.raw.length;
  };
  for (const match of prompt.matchAll(WORD)) {
    push({ kind: 'text', raw: prompt.slice(end, match.index) });
    const [raw] = match;
    const { escaped, quoted, bare } = match.groups ?? {};
    if (escaped !== undefined) push({ kind: 'escape', raw });
    else if (quoted !== undefined)
      push({ kind: 'mention', raw, paths: dropImpossible([quoted.replace(/\\(["\\])/g, '$1')]) });
    else {
      const endings = listEndings(bare ?? '').flatMap((path) => readEscapedSpaces(path, separator));
      push({ kind: 'mention', raw, paths: dropImpossible(endings) });
    }
  }
  push({ kind: 'text', raw: prompt.slice(end) });
  return pieces;
}

/** On Windows the backslash may be the end of a directory's name instead: `@src\\ and`. */
function readEscapedSpaces(path: string, separator: string): readonly string[] {
  const unescaped = path.replace(/\\(\s)/g, '$1');
  const [directory] = path.split(/(?<=\\)\s/, 1);
  const isDirectory = separator === '\\' && directory !== undefined && directory !== path && directory.length > 1;
  return isDirectory ? [unescaped, directory] : [unescaped];
}

function dropImpossible(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => path !== '' && path.length <= MAX_PATH_LENGTH && !path.includes('\0'));
}

function listEndings(word: string): readonly string[] {
  const found = [word];
  let end = word.length;
  for (let index = word.length - 1; index > 0 && found.length < MAX_PATHS; index -= 1) {
    if (!canEndAt(word, index, end)) continue;
    found.push(word.slice(0, index));
    end = index;
  }
  return found;
}

/** True if a path may end before `index`; the next longer candidate ends at `end`. */
function canEndAt(word: string, index: number, end: number): boolean {
  const character = word[index] ?? '';
  if (STOP.test(character) || (end - index <= MAX_WEAK_STOP && WEAK_STOP.test(word.slice(index, end)))) return true;
  return CJK.test(character) && (word[index - 1] ?? '') < '\x80';
}
