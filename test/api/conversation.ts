import type { TestContext } from 'vitest';
import { type Backend, createIdentity, type Identity } from '../../src/api/backend.ts';
import { geminiModel, type ModelOptions } from '../../src/api/call.ts';
import { geminiApi } from '../../src/api/gemini-api.ts';
import { AppError } from '../../src/core/error.ts';
import type { Clock } from '../../src/core/io.ts';
import type { Model, ModelRequest, Reply, ReplyEvent, RequestWatch } from '../../src/core/model.ts';
import type { Usage } from '../../src/core/usage.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { type Answer, type Loopback, loopback } from './loopback.ts';

export const KEY = 'not-a-real-key-0123456789';

/** An API key from the environment. */
export function keyIdentity(key: string): Identity {
  const headers = { 'x-goog-api-key': key };
  return createIdentity(
    { type: 'gemini-api-key', source: 'GEMINI_API_KEY', account: 'test', headers: async () => headers },
    'key',
  );
}

export const REQUEST: ModelRequest = {
  model: 'gemini-test',
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  generationConfig: { temperature: 1 },
};

export interface Outcome {
  readonly events: readonly ReplyEvent[];
  readonly text: string;
  readonly reply?: Reply;
  readonly error?: AppError;
  /** How long each pause would have been. */
  readonly sleeps: readonly number[];
  readonly trace: readonly string[];
  /** What was counted for each request. */
  readonly calls: readonly Usage[];
  readonly requests: number;
}

export interface Setting extends Partial<ModelOptions> {
  readonly request?: ModelRequest;
  readonly idleMs?: number;
  readonly signal?: AbortSignal;
  readonly makeBackend?: (baseUrl: string) => Backend;
  /** Stops asking for events after the first of this type. */
  readonly leaveAt?: ReplyEvent['type'];
  readonly onEvent?: (event: ReplyEvent) => void | Promise<void>;
}

/** Asks a real server on this machine; pauses pass at once and the jitter is zero. */
export async function converse(
  t: TestContext,
  answers: readonly Answer[],
  setting: Setting = {},
): Promise<Outcome & { readonly server: Loopback }> {
  const server = await loopback(t, answers);
  return { ...(await converseWith(server.url, setting)), server };
}

/** The same with any base URL. */
export async function converseWith(baseUrl: URL, setting: Setting): Promise<Outcome> {
  const sleeps: number[] = [];
  const trace: string[] = [];
  const clock: Clock = {
    now: () => 1_000_000,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      sleeps.push(ms);
    },
  };
  const model = modelAt(baseUrl, setting, { clock, trace: (line) => trace.push(line) });
  const events: ReplyEvent[] = [];
  const take = async (event: ReplyEvent): Promise<void> => {
    events.push(event);
    await setting.onEvent?.(event);
  };
  const calls: Usage[] = [];
  let requests = 0;
  const watch: RequestWatch = {
    onRequest() {
      requests += 1;
    },
    onCall: ({ usage }) => void calls.push(usage),
  };
  const end = await collect(
    model.stream(setting.request ?? REQUEST, setting.signal ?? new AbortController().signal, watch),
    take,
    setting.leaveAt,
  );
  return { events, text: deltas(events), ...end, sleeps, trace, calls, requests };
}

/** A model behind a server on this machine. */
export function modelAt(
  baseUrl: URL,
  setting: Setting,
  { clock, trace }: Pick<ModelOptions, 'clock' | 'trace'>,
): Model {
  const timers = { connectMs: 10_000, headersMs: setting.idleMs ?? 10_000, idleMs: setting.idleMs ?? 10_000 };
  return geminiModel({
    backend: setting.makeBackend?.(baseUrl.href) ?? geminiApi({ baseUrl, userAgent: 'gmn/test' }, keyIdentity(KEY)),
    send: createHttpClient({ timers, env: {}, trace, clock }).send,
    clock,
    random: () => 0.5,
    trace,
    retryBaseMs: 1000,
    showsThoughts: false,
    ...setting,
  });
}

async function collect(
  stream: AsyncGenerator<ReplyEvent, Reply>,
  take: (event: ReplyEvent) => Promise<void>,
  leaveAt: ReplyEvent['type'] | undefined,
): Promise<{ readonly reply?: Reply; readonly error?: AppError }> {
  try {
    for (;;) {
      const step = await stream.next();
      if (step.done) return { reply: step.value };
      await take(step.value);
      if (step.value.type === leaveAt) {
        await stream.return({ finishReason: 'left', usage: {}, model: '' });
        return {};
      }
    }
  } catch (error) {
    if (error instanceof AppError) return { error };
    throw error;
  }
}

function deltas(events: readonly ReplyEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.delta : '')).join('');
}
