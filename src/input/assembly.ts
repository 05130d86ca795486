import { nameByQuestion, type Part, type StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import {
  type Attachments,
  createAttachments,
  INLINE_LIMIT,
  isAttachment,
  NO_FILE_SUPPORT,
  toAttachment,
  type UploadedAttachment,
  unsendableError,
} from './attachment.ts';
import type { StdinTarget } from './other-attachments.ts';
import type { PromptInput } from './prompt-input.ts';
import { readStdin, type StdinInput } from './stdin.ts';

/**
 * A prompt with attachments. Files are checked before waiting for stdin. Has no parts if there is only white space.
 * `prompt` must not be blank.
 */
export async function assembleContent(input: PromptInput): Promise<StoredContent> {
  const given = await assembleParts(input);
  const { opening } = input;
  const parts = opening === undefined || given.length === 0 ? given : [{ text: opening }, ...given];
  return nameByQuestion({ role: 'user', parts }, input.question ?? input.prompt);
}

async function assembleParts(input: PromptInput): Promise<readonly Part[]> {
  const { cwd, env, homes, signal, onAttached, notify } = input;
  const attachments = createAttachments(input.fileSupport ?? NO_FILE_SUPPORT);
  const context = { cwd, env, homes, signal, onAttached, notify, attachments };
  const { readResource } = input;
  let { prompt } = input;
  let stdinPlace: number | undefined;
  if (input.files.length > 0) {
    const { addFiles } = await import('./files.ts');
    stdinPlace = await addFiles(input.files, context);
  }
  let stdinType: StdinTarget['stdinType'];
  if (input.otherAttachments !== undefined) {
    const { addOtherAttachments } = await import('./other-attachments.ts');
    ({ stdinPlace, stdinType } = await addOtherAttachments(input.otherAttachments, { ...context, stdinPlace }));
  }
  const attachMentions = async (text: string): Promise<string> => {
    if (!input.allowsMentions || !text.includes('@')) return text;
    const { addMentions } = await import('./mentions.ts');
    return addMentions(text, { ...context, readResource });
  };
  if (prompt !== undefined) prompt = await attachMentions(prompt);
  if (stdinPlace !== undefined && input.stdinMode === 'never') {
    throw new AppError('usage', '- needs stdin, and --no-stdin forbids it', { hint: 'Use only one of them.' });
  }
  const bytes = await readStdin({
    stdin: input.stdin,
    mode: stdinPlace === undefined ? input.stdinMode : 'always',
    hasPrompt: prompt !== undefined || (input.isAskedElsewhere === true && attachments.items.length > 0),
    env: input.env,
    clock: input.clock,
    signal: input.signal,
    notify,
    spool: attachments.support.hasUploads ? async () => (await import('./large-stdin.ts')).openStdinSpool() : undefined,
    hint: attachments.support.hint,
  });
  if (stdinPlace === undefined && isEmptyPipe(bytes, input)) notify('stdin was empty');
  else if (bytes instanceof Uint8Array && isBlank(bytes)) notify('stdin was blank: only spaces and line breaks');
  let stdinText = await addStdin(bytes, { place: stdinPlace, type: stdinType, attachments });
  if (input.allowsStdinMentions && prompt === undefined && stdinText !== undefined)
    stdinText = await attachMentions(stdinText);
  if (input.missingInput !== undefined && attachments.items.length === 0 && !stdinText?.trim())
    throw input.missingInput;
  return buildParts(attachments, [stdinText, prompt], signal);
}

/** Whoever writes `… | gmn` expects something to come; a program that starts gmn may close a socket unused. */
function isEmptyPipe(input: StdinInput | undefined, { stdin }: PromptInput): boolean {
  return input instanceof Uint8Array && input.length === 0 && ['pipe', 'file'].includes(stdin.kind());
}

/** As `echo "$UNSET"` gives it. Longer input is not checked. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes.length < 100 && bytes.every((byte) => byte === 32 || (byte >= 9 && byte <= 13));
}

interface StdinOptions {
  /** Index among the attachments; undefined if `-` was not given. */
  readonly place: number | undefined;
  readonly type: StdinTarget['stdinType'];
  readonly attachments: Attachments;
}

/**
 * Returns the text to send between files and prompt. Stdin that is media, or was requested with `-`, becomes an
 * attachment.
 */
async function addStdin(
  input: StdinInput | undefined,
  { place, type, attachments }: StdinOptions,
): Promise<string | undefined> {
  if (input === undefined || (input instanceof Uint8Array && input.length === 0)) {
    if (place === undefined) return undefined;
    throw new AppError('usage', 'stdin is empty, and - asks for it', {
      hint: 'Pipe something in, or leave out the -.',
    });
  }
  const stdin = await toStdinAttachment(input, type, attachments.support);
  if (!isAttachment(stdin)) throw unsendableError('stdin', stdin);
  if ('text' in stdin && place === undefined) return stdin.text;
  attachments.add(stdin, place);
  return undefined;
}

async function toStdinAttachment(
  input: StdinInput,
  type: StdinTarget['stdinType'],
  support: Attachments['support'],
): Promise<ReturnType<typeof toAttachment> | UploadedAttachment> {
  if (input instanceof Uint8Array) {
    const item = toAttachment(input, 'stdin', { support, type: type?.(input) });
    // Base64 makes it a third larger.
    if (!(support.hasUploads && 'data' in item && item.data.length > INLINE_LIMIT)) return item;
  }
  const [{ inspectLargeFile }, { keepInput }] = await Promise.all([
    import('./large-file.ts'),
    import('./large-stdin.ts'),
  ]);
  const path = input instanceof Uint8Array ? await keepInput(input) : input.path;
  return inspectLargeFile(path, 'stdin', { support, links: 'never', toType: type });
}

export async function buildParts(
  attachments: Attachments,
  rest: readonly (string | undefined)[],
  signal: AbortSignal,
): Promise<readonly Part[]> {
  const texts = rest.filter((text) => text !== undefined);
  if (attachments.items.length === 0 && texts.every((text) => text.trim() === '')) return [];
  attachments.makeRoomFor(texts.join('\n\n'));
  const blocks = attachments.items.flatMap((item) => ('text' in item ? [`=== ${item.name} ===\n${item.text}`] : []));
  const text = [...blocks, ...texts].join('\n\n');
  return [...(await toMediaParts(attachments.items, signal)), ...(text === '' ? [] : [{ text }])];
}

/** A single medium needs no name; several do, for prompts like "compare a.png with b.png". */
async function toMediaParts(items: Attachments['items'], signal: AbortSignal): Promise<readonly Part[]> {
  const parts: Part[] = [];
  const media = items.filter((item) => !('text' in item));
  for (const item of media) {
    if (media.length > 1) parts.push({ text: `=== ${item.name} ===` });
    parts.push(await toMediaPart(item, signal));
  }
  return parts;
}

async function toMediaPart(item: Attachments['items'][number], signal: AbortSignal): Promise<Part> {
  if ('isUploaded' in item) return item.part ?? (await import('./large-file.ts')).createFilePart(item, signal);
  if ('text' in item) return { text: item.text };
  const { mimeType } = item;
  return 'uri' in item ? { fileData: { mimeType, fileUri: item.uri } } : { inlineData: { mimeType, data: item.data } };
}
