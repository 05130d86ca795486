import type { ClaimedStdout } from '../../platform/claimed-stdout.ts';
import { linesOf } from './lines.ts';
import { readMessage, TOO_LONG } from './message.ts';
import { protocolServer } from './protocol.ts';
import type { Sdk, SdkMessage, SdkTransport } from './sdk.ts';
import type { Service } from './tool.ts';

export interface StdioOptions {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: ClaimedStdout;
  readonly trace: (line: string) => void;
}

/** Serves one client, one message a line, until its input ends or nobody reads the output. Never throws. */
export async function serveLines(sdk: Sdk, service: Service, { input, output, trace }: StdioOptions): Promise<void> {
  const write = (message: SdkMessage): Promise<void> => output.write(`${JSON.stringify(message)}\n`);
  const transport: SdkTransport = {
    start: async () => {},
    // The client may be gone by the time its answer is there.
    send: (message) => write(message).catch(() => {}),
    close: async () => {},
  };
  const onerror = (error: Error): void => trace(`mcp: ${error.message}`);
  const handle = sdk.serveStdio(() => protocolServer(sdk, service), { transport, onerror });
  const pump = async (): Promise<void> => {
    for await (const line of linesOf(input)) {
      const read =
        'text' in line ? (line.text.trim() === '' ? undefined : readMessage(line.text)) : { answer: TOO_LONG };
      if (read === undefined) continue;
      if ('message' in read) transport.onmessage?.(read.message);
      else await write(read.answer);
      // Whoever does not read its answers is not asked for more questions.
      await output.ready();
    }
  };
  await Promise.race([pump().catch(() => {}), output.gone]);
  transport.onclose?.();
  await handle.close().catch(() => {});
}
