import type { AppError } from '../../../core/error.ts';
import type { SessionSummary } from '../../../core/session.ts';
import { failureText } from '../errors.ts';
import { checkedModel } from '../model-name.ts';
import { directoryFor } from '../sessions.ts';
import type { Call, CallResult } from '../tool.ts';
import { type Answer, answerTo } from '../turn.ts';
import { type PlainAnswer, plainResult } from './results.ts';

/** The arguments of `chat`. */
export const CHAT_ARGUMENTS = {
  prompt: { type: 'string', description: 'What to say to Gemini.' },
  model: { type: 'string', description: "Model id or alias, e.g. gemini-3-pro; gmn's default if it is not given." },
  systemPrompt: { type: 'string', description: 'How the assistant should behave.' },
  cwd: {
    type: 'string',
    description: 'Where Gemini looks at files: a directory inside a root of this server; the first root by default.',
  },
} as const;

interface ChatArguments {
  readonly prompt: string;
  readonly model?: string | undefined;
  readonly systemPrompt?: string | undefined;
  readonly cwd?: string | undefined;
}

/** One turn of a session, a new one unless it goes on with one. Throws AppError. */
export async function chatTurn(
  { prompt, model, systemPrompt, cwd }: ChatArguments,
  { host, progress, signal }: Call,
  earlier: SessionSummary | undefined,
): Promise<CallResult> {
  checkedModel(model);
  const directory = directoryFor(host, cwd, earlier);
  const engine = await host.engine();
  const turn = {
    prompt: { role: 'user', parts: [{ text: prompt }] },
    model,
    systemText: systemPrompt,
    directory,
    kept: { kind: 'session', cwd: directory ?? host.startDirectory, earlier },
    signal,
  } as const;
  const answer = await host.gate.pass(signal, () => answerTo(engine, turn, { progress }), earlier?.id);
  const { sessionId } = answer;
  if (sessionId === undefined) return plainResult(host.pages, answerOf(answer));
  host.ownSessions.add(sessionId);
  host.latest.sessionId = sessionId;
  return plainResult(host.pages, { ...answerOf(answer), meta: { sessionId } });
}

function answerOf({ text, refused, notices }: Answer): PlainAnswer {
  return { text, refused, notices };
}

/** A failure in the words that callers of these tools know. */
export function chatFailure(error: AppError): CallResult {
  return { content: [{ type: 'text', text: `Error executing gemini: ${failureText(error)}` }], isError: true };
}
