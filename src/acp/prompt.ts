import { checkRoom } from '../chat/attached.ts';
import type { Chat } from '../chat/chat.ts';
import { readLinkedFile } from '../chat/linked-file.ts';
import { buildPrompt } from '../chat/prompt.ts';
import { type Part, prependParts, type StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { sniffMedia } from '../core/text/media.ts';
import { escapeMentions } from '../input/mentions.ts';
import { tryParseFileUrl } from '../platform/files/file-url.ts';
import type { ContentBlock } from './sdk.ts';

/** What the blocks of a prompt hold. */
export interface EditorPrompt {
  /** What was typed, with the name of each resource where it was mentioned. */
  readonly words: string;
  /** It begins with a slash that was typed: the name of a resource is no command. */
  readonly isCommand: boolean;
  /** Pictures, sounds, and what the mentioned resources hold. */
  readonly parts: readonly Part[];
}

/** Throws AppError `usage` for what cannot be sent. */
export async function readPromptBlocks(blocks: readonly ContentBlock[], chat: Chat): Promise<EditorPrompt> {
  let words = '';
  const parts: Part[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        words += block.text.toWellFormed();
        break;
      case 'image':
      case 'audio':
        parts.push(toSniffedPart(block.data, block.mimeType));
        break;
      case 'resource_link': {
        const name = await nameResource(block.uri, chat, block.name);
        words += escapeMentions(name);
        const path = tryParseFileUrl(block.uri);
        if (path !== undefined) parts.push(...(await readLinkedFile(path, chat)));
        break;
      }
      case 'resource': {
        const { resource } = block;
        const name = await nameResource(resource.uri, chat);
        words += escapeMentions(name);
        if ('text' in resource) parts.push({ text: `=== ${name} ===\n${resource.text.toWellFormed()}` });
        else
          parts.push(
            { text: `=== ${name} ===` },
            toSniffedPart(resource.blob, resource.mimeType ?? 'binary data', name),
          );
        break;
      }
    }
  }
  checkRoom(parts, 'Send less of it at once.');
  return { words, parts, isCommand: isTypedCommand(blocks) };
}

/** What follows the first block may be an argument, but no part of the command's name. */
function isTypedCommand([first, ...others]: readonly ContentBlock[]): boolean {
  if (first?.type !== 'text') return false;
  const isWhole = others.every(({ type }) => type === 'image' || type === 'audio');
  return (isWhole ? /^\s*\/(?!\/)/ : /^\s*\/[^\s/]\S*\s/).test(first.text);
}

/** The prompt of what was typed and what goes with it. Throws AppError `usage`. */
export async function buildEditorPrompt(
  { words, parts }: Pick<EditorPrompt, 'words' | 'parts'>,
  chat: Chat,
  signal: AbortSignal,
): Promise<StoredContent> {
  if (words.trim() === '' && parts.length > 0) return { role: 'user', parts };
  const question = words.startsWith('//') ? words.slice(1) : words;
  return prependParts(await buildPrompt(chat, question, signal), parts);
}

/** By its bytes: what a client calls them may be wrong, and the service refuses the request then. */
function toSniffedPart(data: string, claimed: string, name?: string): Part {
  const mimeType = sniffMedia(Buffer.from(data, 'base64'), name);
  if (mimeType !== undefined) return { inlineData: { mimeType, data } };
  throw new AppError('usage', `this is nothing that the model can look at or listen to: ${claimed.slice(0, 100)}`, {
    hint: 'Send PNG, JPEG, WebP, WAV, MP3, PDF and the like.',
  });
}

/** A file of the workspace as the model knows it. */
async function nameResource(uri: string, { changes: { workspace } }: Chat, name = uri): Promise<string> {
  const path = tryParseFileUrl(uri);
  if (path === undefined) return name === uri ? uri : `${name} (${uri})`;
  return (await workspace.place(path, 'read').catch(() => undefined))?.name ?? path;
}
