import type { StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { PromptInput } from './prompt-input.ts';

/**
 * The prompt as one user Content: media first, then one text, `<files>\n\n<stdin>\n\n<prompt>`, with stdin unchanged.
 * Throws AppError `usage` if there is nothing to send, or something that
 * cannot be sent. A prompt alone costs one fstat and loads no other code.
 */
export async function buildPromptContent(input: PromptInput): Promise<StoredContent> {
  const isDash = input.prompt?.trim() === '-';
  const prompt = isDash || input.prompt?.trim() === '' ? undefined : input.prompt;
  const stdinMode = isDash && input.stdinMode === 'auto' ? 'always' : input.stdinMode;
  const isAlone =
    input.files.length === 0 &&
    input.otherAttachments === undefined &&
    !(input.allowsMentions && prompt?.includes('@')) &&
    (stdinMode === 'never' || (stdinMode === 'auto' && input.stdin.kind() === 'none'));
  if (isAlone) {
    if (prompt === undefined) throw noPromptError();
    if (input.missingInput !== undefined) throw input.missingInput;
    const { opening, question = opening && prompt } = input;
    const parts = [...(opening === undefined ? [] : [{ text: opening }]), { text: prompt }];
    return { role: 'user', parts, question: question || undefined };
  }
  const { assembleContent } = await import('./assembly.ts');
  const content = await assembleContent({ ...input, prompt, stdinMode });
  if (content.parts.length === 0) throw noPromptError();
  return content;
}

export function noPromptError(hint = 'Try: gmn "your question", or pipe text in: … | gmn'): AppError {
  return new AppError('usage', 'no prompt given', { hint });
}

/** `prompt` is that of `-p`, which may be a flag: claude has its own behind `-p`. */
export function twoPromptsError(prompt: string): AppError {
  const [flag] = /^--?[a-z][\w-]*/i.exec(prompt) ?? [];
  const order = `-p takes the prompt that follows it, here ${flag}: put it after the other flags, as in gmn ${flag} … -p "…"`;
  return new AppError('usage', '-p cannot be combined with a positional prompt', {
    hint: flag === undefined ? 'Use one of them.' : order,
  });
}
