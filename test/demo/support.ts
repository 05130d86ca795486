import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/core/io.ts';
import { parseFaults } from '../../src/demo/fault.ts';
import { type DemoOptions, startDemo } from '../../src/demo/server.ts';

export interface TestDemo {
  readonly url: string;
  /** The demo's clock never really waits. */
  readonly sleeps: readonly number[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

const KEY = { 'x-goog-api-key': 'k', authorization: 'Bearer t' };

/** Closed after the test. Every request has a key and a token unless other headers are given. */
export async function testDemo(
  options: Omit<DemoOptions, 'clock' | 'faults'> & {
    readonly faults?: readonly string[];
    readonly now?: () => number;
  } = {},
): Promise<TestDemo> {
  const sleeps: number[] = [];
  const clock: Clock = {
    now: options.now ?? (() => Date.UTC(2026, 10, 15, 9)),
    sleep: async (ms) => {
      sleeps.push(ms);
    },
  };
  const server = await startDemo({ ...options, faults: parseFaults(options.faults ?? []), clock });
  onTestFinished(() => server.close());
  return {
    url: server.url,
    sleeps,
    post: (path, body, headers = KEY) =>
      fetch(server.url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers,
        redirect: 'manual',
      }),
    get: (path, headers = KEY) => fetch(server.url + path, { headers, redirect: 'manual' }),
    close: () => server.close(),
  };
}

export const FLASH = '/v1beta/models/gemini-2.5-flash';
export const STREAM = `${FLASH}:streamGenerateContent?alt=sse`;

export function ask(text: string, more: object = {}): object {
  return { contents: [{ role: 'user', parts: [{ text }] }], ...more };
}

export interface WirePart {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  functionCall?: { id: string; name: string; args: object };
}

export interface WireEvent {
  candidates?: { content?: { role: string; parts?: WirePart[] }; finishReason?: string; index?: number }[];
  usageMetadata?: Record<string, number>;
  promptFeedback?: object;
  modelVersion?: string;
  responseId?: string;
}

/** Throws if an event is not JSON. */
export async function events(response: Response): Promise<WireEvent[]> {
  const text = await response.text();
  if (text === '') return [];
  if (!text.endsWith('\r\n\r\n')) throw new Error(`the stream was cut: ${text.slice(-80)}`);
  return text
    .split('\r\n\r\n')
    .slice(0, -1)
    .map((frame) => JSON.parse(frame.replace(/^data: /, '')));
}

export function parts(event: WireEvent | undefined): WirePart[] {
  return event?.candidates?.[0]?.content?.parts ?? [];
}

export function texts(list: readonly WireEvent[]): string[] {
  return list.map((event) =>
    parts(event)
      .map((part) => part.text ?? '')
      .join(''),
  );
}

export async function errorOf(
  response: Response,
): Promise<{ code: number; status: string; message: string; details?: Record<string, unknown>[] }> {
  return (await response.json()).error;
}
