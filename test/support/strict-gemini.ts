import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

export type WirePart = Readonly<Record<string, unknown>>;

interface WireContent {
  readonly role?: string;
  readonly parts?: readonly WirePart[];
}

/** Chunks of parts. A reply that is held stops before its end until the client leaves. */
export interface PlayedReply {
  readonly chunks: readonly (readonly WirePart[])[];
  readonly isHeld?: boolean;
  readonly finishReason?: string;
}

/** A server on 127.0.0.1 that rejects every history that the API would reject. */
export interface StrictGemini {
  readonly url: URL;
  /** Since the last `begin`. */
  readonly refusals: readonly string[];
  /** Of all requests since the last `begin`. */
  readonly requests: readonly (readonly WireContent[])[];
  /** Signatures on parts of complete replies that must come back, in order. */
  readonly issued: readonly string[];
  /** Forgets the conversation. */
  begin(): void;
  /** Acts as another account: no signature issued so far is valid here. */
  move(): void;
  /** Replaces replies that were not fetched yet. */
  play(replies: readonly PlayedReply[]): void;
  close(): Promise<void>;
}

const SKIP = 'skip_thought_signature_validator';
const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'];

export async function strictGemini(): Promise<StrictGemini> {
  let script: PlayedReply[] = [];
  const state = { refusals: [] as string[], requests: [] as (readonly WireContent[])[], issued: [] as string[] };
  let sent: WirePart[] = [];

  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const contents: readonly WireContent[] = body.contents ?? body.request?.contents ?? [];
    const why = objection(contents, sent);
    state.requests.push(contents);
    if (why !== undefined) state.refusals.push(why);
    const reply = script.shift();
    if (why !== undefined || reply === undefined) return refuse(response, why ?? 'the script is at its end');
    const parts = reply.chunks.flat();
    sent.push(...parts);
    if (!reply.isHeld && (reply.finishReason ?? 'STOP') === 'STOP') {
      for (const part of parts) {
        const comesBack = part.thought !== true || part.functionCall !== undefined;
        if (comesBack && typeof part.thoughtSignature === 'string') state.issued.push(part.thoughtSignature);
      }
    }
    answer(response, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    get refusals() {
      return state.refusals;
    },
    get requests() {
      return state.requests;
    },
    get issued() {
      return state.issued;
    },
    begin() {
      Object.assign(state, { refusals: [], requests: [], issued: [] });
      sent = [];
      script = [];
    },
    move() {
      sent = sent.map(({ thoughtSignature, ...part }) =>
        thoughtSignature === undefined ? part : { ...part, thoughtSignature: SKIP },
      );
      state.issued = [];
    },
    play(replies) {
      script = [...replies];
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuse(response: ServerResponse, message: string): void {
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code: 400, status: 'INVALID_ARGUMENT', message } }));
}

function answer(response: ServerResponse, { chunks, isHeld, finishReason = 'STOP' }: PlayedReply): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [index, parts] of chunks.entries()) {
    const isLast = index === chunks.length - 1 && !isHeld;
    const candidate = { content: { role: 'model', parts }, ...(isLast ? { finishReason } : {}) };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 };
    response.write(
      `data: ${JSON.stringify({ candidates: [candidate], ...(isLast ? { usageMetadata } : {}) })}\r\n\r\n`,
    );
  }
  if (!isHeld) response.end();
}

export function objection(contents: readonly WireContent[], sent: readonly WirePart[]): string | undefined {
  if (contents.length === 0) return 'contents is empty';
  for (const [index, content] of contents.entries()) {
    const why = contentObjection(content, contents[index - 1], index, sent);
    if (why !== undefined) return `contents[${index}]: ${why}`;
  }
  if (contents.at(-1)?.role !== 'user') return 'the last content is not the user’s';
  return signatureObjection(contents, sent);
}

function contentObjection(
  { role, parts, ...rest }: WireContent,
  before: WireContent | undefined,
  index: number,
  sent: readonly WirePart[],
): string | undefined {
  if (Object.keys(rest).length > 0) return `unknown name ${Object.keys(rest)}`;
  if (role !== (index % 2 === 0 ? 'user' : 'model')) return `role ${role} out of turn`;
  if (!Array.isArray(parts) || parts.length === 0) return 'no parts';
  for (const part of parts as readonly WirePart[]) {
    const why = partObjection(part, role, sent);
    if (why !== undefined) return `${why}: ${JSON.stringify(part)}`;
  }
  return role === 'user' ? pairObjection(before?.parts ?? [], parts) : undefined;
}

function partObjection(part: WirePart, role: string, sent: readonly WirePart[]): string | undefined {
  const { thought, thoughtSignature, functionCall: call, functionResponse: answer } = part;
  const isIssued = thoughtSignature === SKIP || sent.some((one) => one.thoughtSignature === thoughtSignature);
  if (thoughtSignature !== undefined && !isIssued) return 'a thought_signature nobody issued';
  if (thought === true && call === undefined) return 'a thought came back';
  if (part.text === '' && part.thoughtSignature === undefined) return 'an empty text';
  if (role === 'user') {
    if (call !== undefined || part.thoughtSignature !== undefined) return 'a part of the model in a user content';
    if (!DATA.some((key) => part[key] !== undefined)) return 'no data';
    return answer === undefined ? undefined : answerObjection(answer as WirePart);
  }
  if (answer !== undefined) return 'an answer in a model content';
  const isEmpty = Object.keys(part).every((key) => key === 'thought' || key === 'thoughtSignature');
  if (isEmpty) return 'no data';
  if (call !== undefined) return callObjection(call as WirePart);
  const isKnown = typeof part.text === 'string' || sent.some((one) => isDeepStrictEqual(one, part));
  return isKnown ? undefined : 'a part of the model was changed';
}

function answerObjection({ name, response, id }: WirePart): string | undefined {
  if (typeof name !== 'string' || name === '') return 'a response without a name';
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return 'a response is no object';
  return id === undefined || typeof id === 'string' ? undefined : 'an id is no string';
}

function callObjection({ name, args }: WirePart): string | undefined {
  if (typeof name !== 'string' || name === '') return 'a call without a name';
  return args === undefined || (typeof args === 'object' && args !== null && !Array.isArray(args))
    ? undefined
    : 'args is no object';
}

function pairObjection(asked: readonly WirePart[], given: readonly WirePart[]): string | undefined {
  const names = (parts: readonly WirePart[], key: string): readonly string[] =>
    parts.flatMap((part) => {
      const one = part[key] as WirePart | undefined;
      return one === undefined ? [] : [`${one.name}#${one.id}`];
    });
  const calls = names(asked, 'functionCall');
  const answers = names(given, 'functionResponse');
  return isDeepStrictEqual(calls, answers) ? undefined : `calls ${calls} but responses ${answers}`;
}

/** In the current turn, the first call of every content must have the signature that was issued with it. */
function signatureObjection(contents: readonly WireContent[], sent: readonly WirePart[]): string | undefined {
  const start = contents.findLastIndex(
    ({ role, parts = [] }) => role === 'user' && !parts.some(({ functionResponse }) => functionResponse !== undefined),
  );
  for (const { role, parts = [] } of contents.slice(start + 1)) {
    const part = role === 'model' ? parts.find(({ functionCall }) => functionCall !== undefined) : undefined;
    if (part === undefined) continue;
    const issued: unknown[] = sent.filter((one) => isSameCall(one, part)).map((one) => one.thoughtSignature ?? SKIP);
    if (!issued.includes(part.thoughtSignature))
      return `Function call has no valid thought_signature: ${JSON.stringify(part)}`;
  }
  return undefined;
}

function isSameCall(issued: WirePart, returned: WirePart): boolean {
  if (issued.functionCall === undefined) return false;
  const [one, other] = [issued.functionCall as WirePart, returned.functionCall as WirePart];
  const args = typeof one.args === 'object' && one.args !== null ? one.args : undefined;
  return (
    (one.name ?? 'generic_tool') === other.name &&
    isDeepStrictEqual(args, other.args) &&
    (one.id === undefined || one.id === other.id)
  );
}
