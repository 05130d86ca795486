import type { App } from '../core/app.ts';
import { type Content, prependParts } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import type { FileSupport } from '../core/files.ts';
import { isObject } from '../core/json.ts';
import type { Run } from '../engine/run.ts';
import type { Attachments } from '../input/attachment.ts';
import { fromFileUrl } from '../platform/files/path.ts';
import type { InputFile } from './gmn.d.ts';
import { requireList } from './setup.ts';

interface PromptContext {
  readonly app: App;
  readonly fileSupport: FileSupport;
  readonly signal: AbortSignal;
  readonly notify: Notify;
}

/** The prompt and its files as one Content. Throws AppError `usage` for what cannot be sent. */
export async function buildAskedContent(
  prompt: unknown,
  files: readonly InputFile[] | undefined,
  context: PromptContext,
): Promise<Content> {
  requireInputFiles(files);
  if (typeof prompt !== 'string' || (prompt.trim() === '' && !files?.length)) {
    throw new AppError('usage', 'the prompt must be a text that is not empty');
  }
  const text = prompt.toWellFormed();
  if (!files?.length) return { role: 'user', parts: [{ text }] };
  const [{ buildParts }, { createAttachments }] = await Promise.all([
    import('../input/assembly.ts'),
    import('../input/attachment.ts'),
  ]);
  const attachments = createAttachments(context.fileSupport);
  for (const file of files) await attachInput(file, attachments, context);
  return { role: 'user', parts: await buildParts(attachments, text.trim() === '' ? [] : [text], context.signal) };
}

/** The prompt with what these skills say before it. Throws AppError `usage`. */
export async function addSkills(
  content: Content,
  names: readonly string[] = [],
  { run, settings }: { readonly run: Run; readonly settings: boolean | undefined },
): Promise<Content> {
  if (names.length > 0 && !settings) {
    throw new AppError('usage', 'skills are those of the settings', { hint: 'Add settings: true.' });
  }
  const texts = await run.activateSkills(names);
  return prependParts(
    content,
    texts.map((text) => ({ text })),
  );
}

async function attachInput(file: InputFile, attachments: Attachments, context: PromptContext): Promise<void> {
  if (file instanceof URL) {
    if (file.protocol === 'file:') return addPath(fromFileUrl(file), attachments, context);
    if (file.protocol === 'gs:') return addPath(file.href, attachments, context);
    const name = file.pathname.split('/').at(-1) || file.host;
    return addBytes(await fetchFile(file, context), { name }, attachments);
  }
  if (typeof file === 'string') return addPath(file, attachments, context);
  const { data, name = 'file', type } = file;
  return addBytes(toFileBytes(data), { name, type }, attachments);
}

function toFileBytes(data: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

function requireInputFiles(files: unknown): void {
  for (const [index, file] of requireList('files', files).entries()) {
    if (typeof file === 'string' || file instanceof URL) continue;
    const data = isObject(file) ? file.data : undefined;
    if (typeof data === 'string' || data instanceof Uint8Array || data instanceof ArrayBuffer) continue;
    throw new AppError('usage', `files[${index}] is neither a path, nor an address, nor { data } with bytes or a text`);
  }
}

async function addPath(path: string, attachments: Attachments, context: PromptContext): Promise<void> {
  if (path === '-') throw new AppError('usage', 'files: "-" is not possible: a library has no stdin');
  const { cwd, env, homes } = context.app;
  const { addFiles } = await import('../input/files.ts');
  await addFiles([path], { cwd, env, homes, attachments, signal: context.signal, notify: context.notify });
}

async function addBytes(
  bytes: Uint8Array,
  { name, type }: { readonly name: string; readonly type?: string | undefined },
  attachments: Attachments,
): Promise<void> {
  const { isAttachment, toAttachment, unsendableError } = await import('../input/attachment.ts');
  const isText = type?.startsWith('text/') ?? false;
  const item = toAttachment(bytes, name, { support: attachments.support, type: isText ? undefined : type });
  if (!isAttachment(item)) throw unsendableError(name, item);
  attachments.add(item);
}

/** Only from public addresses: a prompt may name them. */
async function fetchFile(url: URL, { app, signal }: PromptContext): Promise<Uint8Array> {
  const [{ createPinnedClient, isPublicAddress }, { fetchBytes }] = await Promise.all([
    import('../platform/http/pinned.ts'),
    import('../tools/web-page.ts'),
  ]);
  return fetchBytes(url, createPinnedClient({ isAllowedAddress: isPublicAddress, timers: app.httpTimers }), signal);
}
