import type { Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import {
  type Attachment,
  type Attachments,
  createAttachments,
  isAttachment,
  notTextError,
  toAttachment,
} from './attachment.ts';
import type { StdinTarget } from './other-attachments.ts';
import type { PromptInput } from './prompt-input.ts';
import { readStdin } from './stdin.ts';

/**
 * Parts of a prompt with attachments. Files are checked before waiting for stdin. Empty if there is only white space.
 * `prompt` must not be blank.
 */
export async function* assembleParts(input: PromptInput): AsyncGenerator<TurnEvent, readonly Part[]> {
  const { cwd, env, homes, signal, attached } = input;
  const context = { cwd, env, homes, signal, attached, attachments: createAttachments() };
  const { readResource } = input;
  let { prompt } = input;
  let stdinPlace: number | undefined;
  if (input.files.length > 0) {
    const { addFiles } = await import('./files.ts');
    stdinPlace = yield* addFiles(input.files, context);
  }
  let stdinType: StdinTarget['stdinType'];
  if (input.otherAttachments !== undefined) {
    const { addOtherAttachments } = await import('./other-attachments.ts');
    ({ stdinPlace, stdinType } = await addOtherAttachments(input.otherAttachments, { ...context, stdinPlace }));
  }
  const mentions = async function* (text: string): AsyncGenerator<TurnEvent, string> {
    if (!input.mentions || !text.includes('@')) return text;
    const { addMentions } = await import('./mentions.ts');
    return yield* addMentions(text, { ...context, readResource });
  };
  if (prompt !== undefined) prompt = yield* mentions(prompt);
  if (stdinPlace !== undefined && input.stdinMode === 'never') {
    throw new AppError('usage', '- needs stdin, and --no-stdin forbids it', { hint: 'Use only one of them.' });
  }
  const bytes = yield* readStdin({
    stdin: input.stdin,
    mode: stdinPlace === undefined ? input.stdinMode : 'always',
    hasPrompt: prompt !== undefined,
    env: input.env,
    clock: input.clock,
    signal: input.signal,
  });
  let stdinText = addStdin(bytes, { place: stdinPlace, type: stdinType, attachments: context.attachments });
  if (input.stdinMentions && prompt === undefined && stdinText !== undefined) stdinText = yield* mentions(stdinText);
  return buildParts(context.attachments, [stdinText, prompt]);
}

interface StdinOptions {
  /** Index among the attachments; undefined if `-` was not given. */
  readonly place: number | undefined;
  /** Gives the media type to send it with, even for text. */
  readonly type: StdinTarget['stdinType'];
  readonly attachments: Attachments;
}

/**
 * Returns the text to send between files and prompt. Stdin that is media, or was requested with `-`, becomes an
 * attachment.
 */
function addStdin(bytes: Uint8Array | undefined, { place, type, attachments }: StdinOptions): string | undefined {
  if (bytes === undefined || bytes.length === 0) {
    if (place === undefined) return undefined;
    throw new AppError('usage', 'stdin is empty, and - asks for it', {
      hint: 'Pipe something in, or leave out the -.',
    });
  }
  const stdin = toAttachment(bytes, 'stdin', type?.(bytes));
  if (!isAttachment(stdin)) throw notTextError('stdin', stdin);
  if ('text' in stdin && place === undefined) return stdin.text;
  attachments.add(stdin, place);
  return undefined;
}

function buildParts(attachments: Attachments, rest: readonly (string | undefined)[]): readonly Part[] {
  const blocks = attachments.items.flatMap((item) => ('text' in item ? [`=== ${item.name} ===\n${item.text}`] : []));
  const words = rest.filter((text) => text !== undefined);
  if (attachments.items.length === 0 && words.every((text) => text.trim() === '')) return [];
  const text = [...blocks, ...words].join('\n\n');
  attachments.checkRoomFor(words.join('\n\n'));
  return [...toMediaParts(attachments.items), ...(text === '' ? [] : [{ text }])];
}

/** A single medium needs no name; several do, for prompts like "compare a.png with b.png". */
function toMediaParts(items: readonly Attachment[]): readonly Part[] {
  const media = items.filter((item) => 'data' in item);
  return media.flatMap(({ name, mimeType, data }) => {
    const part = { inlineData: { mimeType, data } };
    return media.length > 1 ? [{ text: `=== ${name} ===` }, part] : [part];
  });
}
