import { estimateRequestTokens } from '../../core/media-tokens.ts';
import type { ModelRequest } from '../../core/model.ts';

/** An answer shorter than this is of no use; a prompt that leaves less room is for the service to refuse. */
const MIN_ROOM = 1024;

/** Lowers `maxOutputTokens` to what a prompt leaves of a window that input and output share, in tokens. */
export function fitOutput(request: ModelRequest, window: number): ModelRequest {
  const { maxOutputTokens } = request.generationConfig;
  if (typeof maxOutputTokens !== 'number') return request;
  const room = window - estimateRequestTokens(request);
  if (room >= maxOutputTokens) return request;
  const generationConfig = { ...request.generationConfig, maxOutputTokens: Math.max(room, MIN_ROOM) };
  return { ...request, generationConfig };
}
