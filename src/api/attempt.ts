import { toNotices } from '../core/event.ts';
import type { HttpResponse } from '../core/io.ts';
import type {
  AdmittedRequest,
  CountedCall,
  ModelRequest,
  Reply,
  ReplyEvent,
  RequestWatch,
  SpendingLimit,
} from '../core/model.ts';
import type { Deadline } from '../platform/runtime/clock.ts';
import { parseServedTier, type ReplyReader } from './reply.ts';

export interface Attempt {
  readonly request: ModelRequest;
  readonly admitted: AdmittedRequest | undefined;
  readonly onRequest: RequestWatch['onRequest'];
  reader?: ReplyReader;
  isSent: boolean;
  /** Whether the service has answered with an error, which costs nothing. */
  isRefused: boolean;
}

/** Every request passes here before it is sent. Throws AppError, or the signal's reason. */
export async function beginAttempt(
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
  { spending, onRequest }: { readonly spending?: SpendingLimit } & Pick<RequestWatch, 'onRequest'>,
  deadline: Deadline | undefined,
): Promise<Attempt> {
  signal.throwIfAborted();
  // It may wait for other requests, whose time is not this one's.
  const resume = spending && deadline?.pause();
  const admitted = await spending?.admit(request, signal).finally(resume);
  return { request: admitted?.request ?? request, admitted, onRequest, isSent: false, isRefused: false };
}

/** Called once, however it ended: what was counted is spent, and reported. */
export function endAttempt(
  { request, admitted, reader, isSent, isRefused }: Attempt,
  response: HttpResponse | undefined,
  onCall: (counted: CountedCall) => void,
): void {
  const counts = response && reader?.counted();
  const counted = counts && addTier(counts, request, response);
  admitted?.settle(counted, response !== undefined || (isSent && !isRefused));
  if (counted !== undefined) onCall(counted);
}

export function limitNotices({ admitted }: Attempt, { finishReason }: Reply): readonly ReplyEvent[] {
  return toNotices(admitted?.notice !== undefined && finishReason === 'MAX_TOKENS' ? [admitted.notice] : []);
}

const TIER_HEADER = 'x-gemini-service-tier';

export function tierNotices(
  { serviceTier: served }: Pick<Reply, 'serviceTier'>,
  { serviceTier: asked }: ModelRequest,
): readonly string[] {
  if (asked === undefined || served === asked) return [];
  return [`the service answered in its ${served} tier, not in ${asked}`];
}

/** The tier that served the reply; without a word of the service, the one asked for. The standard tier goes without saying. */
export function addTier<Counted extends Pick<Reply, 'serviceTier'>>(
  { serviceTier, ...reply }: Counted,
  { serviceTier: asked }: ModelRequest,
  { headers }: HttpResponse,
): Omit<Counted, 'serviceTier'> & Pick<Reply, 'serviceTier'> {
  const served = serviceTier ?? parseServedTier(headers[TIER_HEADER]) ?? asked;
  return served === undefined || (asked === undefined && served === 'standard')
    ? reply
    : { ...reply, serviceTier: served };
}
