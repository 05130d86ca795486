import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'vitest';
import { objection, type WirePart } from './strict-gemini.ts';

/** Has the same conversation with every client, and rejects every history that the API would reject. */
export interface TalkativeGemini {
  readonly url: string;
  readonly refusals: readonly string[];
  /** The texts of the last request, in order. */
  readonly heard: readonly string[];
}

interface Body {
  readonly contents: readonly { readonly role: string; readonly parts: readonly WirePart[] }[];
}

const MANY = 40;

/** Every part the server may have sent: what comes back must be one of them. */
const SENT: readonly WirePart[] = Array.from({ length: MANY }, (_, n) => [callOf(n), ...wordsOf(n)]).flat();

/**
 * Answers a prompt that ends in a number with a signed call of `list_directory`, and its result with `answer <number>.` in two pieces.
 * Calls `onEvent` at every request and every piece.
 */
export async function talkativeGemini(t: TestContext, onEvent: () => void = () => {}): Promise<TalkativeGemini> {
  const refusals: string[] = [];
  let heard: readonly string[] = [];
  const server = createServer(async (incoming, response) => {
    onEvent();
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { contents }: Body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    heard = contents.flatMap(({ parts }) => parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])));
    const why = objection(contents, SENT);
    if (why !== undefined) {
      refusals.push(why);
      response.writeHead(400).end();
      return;
    }
    const number = Number(/(\d+)$/.exec(heard.findLast((text) => /^prompt \d+$/.test(text)) ?? '')?.[1] ?? 0);
    const isAnswered = contents.at(-1)?.parts.some(({ functionResponse }) => functionResponse !== undefined);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of isAnswered ? wordsOf(number).map(toEvent) : [toEvent(callOf(number), 1)]) {
      response.write(event);
      onEvent();
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    refusals,
    get heard() {
      return heard;
    },
  };
}

function callOf(number: number): WirePart {
  return {
    functionCall: { id: `call-${number}`, name: 'list_directory', args: { path: '.' } },
    thoughtSignature: Buffer.from(`signed ${number}`).toString('base64'),
  };
}

function wordsOf(number: number): readonly WirePart[] {
  return [{ text: `answer ${number}` }, { text: '.' }];
}

/** The second of two chunks ends the stream. */
function toEvent(part: WirePart, index: number): string {
  const ending = index === 1 ? { finishReason: 'STOP' } : {};
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 };
  return `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [part] }, ...ending }], usageMetadata })}\n\n`;
}
