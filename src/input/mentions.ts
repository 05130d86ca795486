import { dirname, resolve } from 'node:path';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import { formatSize } from '../core/text/format.ts';
import { contains } from '../core/text/path.ts';
import { type FoundPath, lookUp } from '../platform/files/read.ts';
import { rulesFor } from '../tools/search/ignore-rules.ts';
import { attachmentOf, type Basket, isAttachment, plainName } from './attachment.ts';
import { addDirectory, type FileContext, readFile, type WalkContext, walkContext } from './files.ts';
import type { ReadResource, Resource } from './prompt-input.ts';

/**
 * Puts the files a prompt mentions with `@` into the basket, each with a notice, and returns the prompt as it is sent:
 * as typed, but for the backslash of `\@`. What is no file may be a resource of an MCP server. A mention of nothing is text; so is one of a resource
 * that nobody has, of what an ignore file leaves out, and of what is likely to be secret, each with a notice.
 */
export async function* addMentions(prompt: string, context: MentionContext): AsyncGenerator<TurnEvent, string> {
  const walked = await walkContext(context);
  let text = '';
  for (const piece of parseMentions(prompt)) {
    text += piece.kind === 'escape' ? piece.raw.slice(1) : piece.raw;
    if (piece.kind !== 'mention') continue;
    context.signal.throwIfAborted();
    const mention = await resolveMention(piece.paths, context.cwd);
    if (mention === undefined) {
      yield* attachResource(piece.paths, context);
      continue;
    }
    const refusal = await mentionRefusal(mention, walked);
    if (refusal === undefined) yield* attach(mention, walked);
    else yield { type: 'notice', message: `not attached: @${mention.name} ${refusal}` };
  }
  return text;
}

interface MentionContext extends FileContext {
  readonly readResource?: ReadResource | undefined;
}

/** Attaches the resource of an MCP server, if that is what the mention means. */
async function* attachResource(mentions: readonly string[], context: MentionContext): AsyncGenerator<TurnEvent, void> {
  const { readResource, signal, basket } = context;
  try {
    const resource = await readResource?.(mentions, signal);
    if (resource === undefined) yield* unresolved(mentions, readResource !== undefined);
    else if (basket.isNew(`@${resource.uri}`)) yield* addResource(resource, basket);
  } catch (thrown) {
    signal.throwIfAborted();
    const { fault, message } = AppError.from(thrown);
    if (fault !== 'mcp') throw thrown;
    yield { type: 'notice', message: `not attached: @${mentions[0]}: ${message}` };
  }
}

/** `server://rest` and `server:scheme:rest`, which are hardly meant as plain words; addresses of the web are. */
const RESOURCE = /^(?!(?:https?|ftp|file|ssh|git|mailto|data):)([^\s:/@]+):(?:\/\/|[a-z][a-z\d+.-]*:)./i;

/** Words that name a resource, and get none, would leave the model to guess what was meant. */
function* unresolved(mentions: readonly string[], hasServers: boolean): Generator<TurnEvent, void> {
  // The shortest: without the comma behind it.
  const mention = mentions.findLast((candidate) => RESOURCE.test(candidate));
  if (mention === undefined) return;
  const [, server = ''] = RESOURCE.exec(mention) ?? [];
  const why = hasServers
    ? 'is no resource of an MCP server in use here'
    : `names an MCP server, and none is in use (--allowed-mcp-server-names ${plainName(server)} uses it)`;
  yield { type: 'notice', message: `not attached: @${plainName(mention)} ${why}` };
}

async function* addResource({ uri, pieces }: Resource, basket: Basket): AsyncGenerator<TurnEvent, void> {
  const name = plainName(uri);
  for (const piece of pieces) {
    const loaded =
      typeof piece === 'string' ? { name, bytes: Buffer.byteLength(piece), text: piece } : attachmentOf(piece, name);
    if (!isAttachment(loaded)) {
      yield { type: 'notice', message: `not attached: ${name} is neither text nor media that can be sent` };
      continue;
    }
    basket.add(loaded);
    yield { type: 'notice', message: `+ ${name} (${formatSize(loaded.bytes)})` };
  }
}

interface Mention extends FoundPath {
  /** As typed. */
  readonly name: string;
}

async function resolveMention(paths: readonly string[], cwd: string): Promise<Mention | undefined> {
  for (const name of paths) {
    const found = await findPath(resolve(cwd, name));
    if (found !== undefined) return { ...found, name };
  }
  return undefined;
}

/** A word that only looks like a path must not fail the run, whatever the system says about it. */
async function findPath(path: string): Promise<FoundPath | undefined> {
  try {
    return await lookUp(path);
  } catch (thrown) {
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
}

/** Why a file or directory that a text mentions does not go along; undefined if it does. */
export async function mentionRefusal(
  mention: Mention,
  context: Pick<WalkContext, 'cwd' | 'workspace' | 'isWithheld'>,
): Promise<string | undefined> {
  const { name, path, kind } = mention;
  const { cwd, workspace, isWithheld } = context;
  if (!contains(workspace, path)) return 'is outside the working directory (-f attaches it)';
  if (kind !== 'file' && kind !== 'directory') return 'is not a regular file';
  if (isWithheld(path) || isWithheld(resolve(cwd, name))) {
    return kind === 'file'
      ? 'may hold secrets (-f attaches it)'
      : 'may hold secrets (-f attaches its files, one by one)';
  }
  const rules = rulesFor(kind === 'file' ? dirname(path) : path, workspace);
  return rules === undefined || (kind === 'file' && rules.ignores(path, 'file'))
    ? 'is left out by an ignore file (-f attaches it)'
    : undefined;
}

async function* attach(mention: Mention, context: WalkContext): AsyncGenerator<TurnEvent, void> {
  const { name, path, kind } = mention;
  if (kind === 'directory') {
    const added = yield* addDirectory(name, mention, context);
    if (added === undefined) yield { type: 'notice', message: `not attached: @${name} has no files to send` };
    if (added === undefined || added.length === 0) return;
    const bytes = added.reduce((sum, item) => sum + item.bytes, 0);
    const count = added.length === 1 ? '1 file' : `${added.length} files`;
    yield { type: 'notice', message: `+ ${name} (${count}, ${formatSize(bytes)})` };
    return;
  }
  if (!context.basket.isNew(path)) return;
  const bytes = await readFile(path, name, 'never');
  const loaded = attachmentOf(bytes, name);
  if (!isAttachment(loaded)) {
    yield { type: 'notice', message: `not attached: @${name} is neither text nor media that can be sent` };
    return;
  }
  context.basket.add(loaded);
  context.attached?.(path, bytes);
  const type = 'text' in loaded ? '' : `${loaded.mimeType}, `;
  yield { type: 'notice', message: `+ ${loaded.name} (${type}${formatSize(loaded.bytes)})` };
}

/** A piece of a prompt. The `raw` of all pieces together are the prompt. */
type PromptPiece =
  | { readonly kind: 'text'; readonly raw: string }
  /** `\@` at the start of a word. */
  | { readonly kind: 'escape'; readonly raw: string }
  | { readonly kind: 'mention'; readonly raw: string; readonly paths: readonly string[] };

const WORD =
  /(?<=^|[\s(])(?<escaped>\\@)|(?<=^|[\s(])@(?:"(?<quoted>(?:[^"\\\r\n]|\\.)+)"|(?<bare>(?:\\\s|[^\s"])+))/gu;

/** Where a path may end although the word goes on: `@a.txt, and`, `(@a.txt)`, `@a.txt's`, `@a.txtを`. */
const STOP = /[,;!?'`()[\]{}<>\p{Ps}\p{Pe}\p{Pi}\p{Pf}]|(?![\0-\x7f])\p{Po}/u;
/** These are common inside a path and mean something in `@<server>:<uri>`: they end one only at the end, or before a line number. */
const WEAK_STOP = /^(?:[.:]+|:\d+(?::\d+)?)$/;
const CJK = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;
const MAX_PATHS = 16;
const MAX_PATH_LENGTH = 4096;

/**
 * Cuts a prompt at its `@` mentions, without looking at the disk: `paths` are what the mention may stand for, the
 * longest first. Nothing is lost: the pieces, joined, are the prompt.
 */
export function parseMentions(prompt: string): readonly PromptPiece[] {
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
    else if (quoted !== undefined) push({ kind: 'mention', raw, paths: within([quoted.replace(/\\(["\\])/g, '$1')]) });
    else push({ kind: 'mention', raw, paths: within(endings(bare ?? '').map(unescapeSpaces)) });
  }
  push({ kind: 'text', raw: prompt.slice(end) });
  return pieces;
}

function within(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => path !== '' && path.length <= MAX_PATH_LENGTH && !path.includes('\0'));
}

function unescapeSpaces(path: string): string {
  return path.replace(/\\(\s)/g, '$1');
}

function endings(word: string): readonly string[] {
  const found = [word];
  let end = word.length;
  for (let index = word.length - 1; index > 0 && found.length < MAX_PATHS; index -= 1) {
    if (!endsAt(word, index, end)) continue;
    found.push(word.slice(0, index));
    end = index;
  }
  return found;
}

/** Whether a path may end before `index`, given that the next longer one ends at `end`. */
function endsAt(word: string, index: number, end: number): boolean {
  const character = word[index] ?? '';
  if (STOP.test(character) || WEAK_STOP.test(word.slice(index, end))) return true;
  return CJK.test(character) && (word[index - 1] ?? '') < '\x80';
}
