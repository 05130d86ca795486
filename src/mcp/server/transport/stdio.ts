import { type ClaimedStdout, settlesWithin } from '../../../core/io.ts';
import { isObject } from '../../../core/json.ts';
import { randomId } from '../../../platform/runtime/random-id.ts';
import { type Line, splitLines } from '../../wire/lines.ts';
import { MAX_MESSAGE_BYTES, type ParsedMessage, parseMessage, rejectTooLong } from '../../wire/message.ts';
import { trackUnanswered } from '../../wire/unanswered.ts';
import { createHandshake } from '../protocol/handshake.ts';
import { createProtocolServer } from '../protocol/server.ts';
import type { Sdk, SdkMessage, SdkTransport } from '../sdk.ts';
import type { Service } from '../tool.ts';

interface StdioOptions {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: ClaimedStdout;
  readonly trace: (line: string) => void;
  /** Called once the handshake is not enough: the SDK is a third of a megabyte. */
  readonly loadSdk: () => Promise<Sdk>;
}

/** How long to wait for the last responses after the input has ended. */
const DRAIN_MS = 2000;

/** One message per line, until the input ends or the output is closed. Never throws. */
export async function serveLines(service: Service, options: StdioOptions): Promise<void> {
  const { input, output } = options;
  const write = (message: SdkMessage): Promise<void> => output.write(`${JSON.stringify(message)}\n`);
  const handshake = createHandshake(service);
  let connection: SdkConnection | undefined;
  const readMessages = async (): Promise<void> => {
    for await (const line of splitLines(input, { maxBytes: MAX_MESSAGE_BYTES, tooLong: 'skip' })) {
      const parsed = parseMessageLine(line);
      if (parsed === undefined) continue;
      const answer =
        'response' in parsed
          ? parsed.response
          : connection === undefined
            ? handshake.respond(parsed.message)
            : undefined;
      if (answer === undefined && 'message' in parsed) {
        connection ??= openSdkConnection(await options.loadSdk(), service, {
          ...options,
          write,
          handled: handshake.handled,
        });
        connection.deliver(parsed.message);
      } else if (answer !== undefined && answer !== 'handled') await write(answer);
      // Back-pressure: read no more requests while the client reads no responses.
      await output.ready();
    }
  };
  const timer = new AbortController();
  const finished = readMessages()
    .catch(() => {})
    .then(() => connection && settlesWithin(connection.waitForAnswers(), DRAIN_MS, service.host.clock, timer.signal));
  await Promise.race([finished, output.gone]);
  timer.abort();
  await connection?.close();
}

function parseMessageLine(line: Line): ParsedMessage | undefined {
  if (!('text' in line)) return rejectTooLong(line.head);
  return line.text.trim() === '' ? undefined : parseMessage(line.text);
}

type SdkConnection = ReturnType<typeof openSdkConnection>;

interface SdkConnectionOptions extends Pick<StdioOptions, 'trace'> {
  readonly write: (message: SdkMessage) => Promise<void>;
  readonly handled: readonly SdkMessage[];
}

function openSdkConnection(sdk: Sdk, service: Service, { write, trace, handled }: SdkConnectionOptions) {
  /** `initialize` is replayed to the SDK under this id. */
  const initializeId = randomId();
  const unanswered = trackQuickRequests(service);
  const transport: SdkTransport = {
    start: async () => {},
    async send(message) {
      // The client already has this response.
      if (!('id' in message) || message.id !== initializeId) await write(message).catch(() => {});
      unanswered.noteSent(message);
    },
    close: async () => {},
  };
  const onerror = (error: Error): void => trace(`mcp: ${error.message}`);
  const handle = sdk.serveStdio(() => createProtocolServer(sdk, service), { transport, onerror });
  for (const message of handled) transport.onmessage?.('id' in message ? { ...message, id: initializeId } : message);
  return {
    deliver(message: SdkMessage): void {
      unanswered.noteReceived(message);
      transport.onmessage?.(message);
    },
    waitForAnswers: unanswered.waitForAnswers,
    async close(): Promise<void> {
      transport.onclose?.();
      await handle.close().catch(() => {});
    },
  };
}

/** Jobs and prompts may take long: only the other requests are waited for. */
function trackQuickRequests({ tools }: Service) {
  const { add, remove, allAnswered } = trackUnanswered();
  const isQuick = (method: string, params: Readonly<Record<string, unknown>> | undefined): boolean =>
    method !== 'tools/call' || tools.some(({ name, isQuick: quick }) => quick && name === params?.name);
  return {
    noteReceived(message: SdkMessage): void {
      if (!('method' in message)) return;
      const { method, params } = message;
      if ('id' in message && isQuick(method, params)) add(message.id);
      // A cancelled request gets no response.
      if (method === 'notifications/cancelled' && isObject(params)) remove(params.requestId);
    },
    noteSent(message: SdkMessage): void {
      if ('id' in message && !('method' in message)) remove(message.id);
    },
    waitForAnswers: allAnswered,
  };
}
