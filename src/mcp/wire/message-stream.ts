import { type Clock, settlesWithin } from '../../core/io.ts';
import { isTooDeep, MAX_DEPTH } from '../../core/json.ts';
import { type Line, splitLines, trimLine } from './lines.ts';
import {
  type JsonRpcMessage,
  MAX_MESSAGE_BYTES,
  type ParsedMessage,
  parseEnvelope,
  rejectMessage,
  rejectTooLong,
} from './message.ts';
import { trackUnanswered } from './unanswered.ts';

interface StreamOptions {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: {
    /** Resolves when there is room for more. */
    write(text: string): Promise<void>;
    ready(): Promise<void>;
    /** Resolves once nobody reads. */
    readonly gone: Promise<void>;
  };
  readonly clock: Clock;
  /** Requests that may take long: they are not waited for when the input has ended. */
  readonly isSlow: (method: string) => boolean;
  /** Answers the first message at once; what its reader answers later is dropped. Undefined: it cannot. */
  readonly answerFirst: (message: JsonRpcMessage) => object | undefined;
}

export interface MessageStream {
  readonly readable: ReadableStream<JsonRpcMessage>;
  readonly writable: WritableStream<object>;
  /** Resolves when the first message has come, and is answered if it could be. Never rejects. */
  readonly begun: Promise<unknown>;
}

/** How long to wait for the last responses after the input has ended. */
const DRAIN_MS = 2000;

/**
 * One message per line, until the input ends or nobody reads the output. What is no message is answered here; the stream ends when the
 * requests that came before its end are answered.
 */
export function createMessageStream({ input, output, clock, isSlow, answerFirst }: StreamOptions): MessageStream {
  const lines = splitLines(input, { maxBytes: MAX_MESSAGE_BYTES, tooLong: 'skip' });
  const unanswered = trackUnanswered();
  const isAnswered = createOnce();
  const write = async (message: object): Promise<void> => {
    if (!isAnswered.take(message)) await output.write(`${encodeMessage(message)}\n`);
    if (!('method' in message) && 'id' in message) unanswered.remove(message.id);
  };
  const isOver: Promise<IteratorReturnResult<void>> = output.gone.then(() => ({ done: true, value: undefined }));
  const readMessage = async (): Promise<JsonRpcMessage | undefined> => {
    for (;;) {
      // Back-pressure: read no more requests while the client reads no responses.
      await output.ready();
      const next = await Promise.race([lines.next(), isOver]);
      if (next.done) return undefined;
      const parsed = parseStreamLine(next.value);
      if (parsed === undefined) continue;
      if ('message' in parsed) return parsed.message;
      await write(parsed.response);
    }
  };
  const readFirst = async (): Promise<JsonRpcMessage | undefined> => {
    const message = await readMessage();
    const result = message && 'id' in message ? answerFirst(message) : undefined;
    if (message === undefined || !('id' in message) || result === undefined) return message;
    await write({ jsonrpc: '2.0', id: message.id, result });
    isAnswered.note(message.id);
    return message;
  };
  let first: Promise<JsonRpcMessage | undefined> | undefined = readFirst();
  const begun = first.catch(() => {});
  const readNext = (): Promise<JsonRpcMessage | undefined> => {
    const next = first ?? readMessage();
    first = undefined;
    return next;
  };
  const readable = new ReadableStream<JsonRpcMessage>(
    {
      async pull(controller) {
        const message = await readNext().catch(() => undefined);
        if (message !== undefined) {
          if ('method' in message && 'id' in message && !isSlow(message.method)) unanswered.add(message.id);
          return controller.enqueue(message);
        }
        await Promise.race([settlesWithin(unanswered.allAnswered(), DRAIN_MS, clock), isOver]);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { readable, writable: new WritableStream({ write }), begun };
}

/** The response that was sent already, of which there is one. */
function createOnce() {
  let answered: { readonly id: unknown } | undefined;
  return {
    note(id: unknown): void {
      answered = { id };
    },
    take(message: object): boolean {
      const isSame = answered !== undefined && !('method' in message) && 'id' in message && message.id === answered.id;
      if (isSame) answered = undefined;
      return isSame;
    },
  };
}

/** Without halves of surrogate pairs, which strict readers of JSON refuse with all that is in the message. */
function encodeMessage(message: object): string {
  const json = JSON.stringify(message);
  return json.includes('\\ud') ? json.replace(/\\(?:ud[89a-f]..|.)/g, replaceHalf) : json;
}

function replaceHalf(escaped: string): string {
  return escaped.length > 2 ? '\\ufffd' : escaped;
}

function parseStreamLine(line: Line): ParsedMessage | undefined {
  if (!('text' in line)) return rejectTooLong(line.head);
  const text = trimLine(line.text);
  if (text === '') return undefined;
  const parsed = parseEnvelope(text, (result) => result !== undefined);
  if ('response' in parsed || !isTooDeep(parsed.message)) return parsed;
  return rejectMessage(parsed.message, -32600, `Invalid Request: nested deeper than ${MAX_DEPTH} levels`);
}
